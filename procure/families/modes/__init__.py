"""How many units of a pool run at Max-Q, which draws less and does less work, by site and quarter."""

"""Units are rented within their offer, at least for its term, and given back when they are not worth their rent."""

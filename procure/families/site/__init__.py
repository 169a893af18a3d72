"""Power, positions, area, liquid cooling and ports of a site, and what can be built there."""

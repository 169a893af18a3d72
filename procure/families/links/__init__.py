"""KV caches sent over links between sites, so that one site prefills what another one decodes."""

"""Steps of a site that are kept on offer: by a first offer, a firm hold, or rent that is started early."""

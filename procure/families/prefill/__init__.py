"""Every served request is prefilled at the site that decodes it."""

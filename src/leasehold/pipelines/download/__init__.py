"""Every file of a manifest on disk, once: resumed, hashed, deduplicated, indexed."""

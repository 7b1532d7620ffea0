"""Files on disk: parts, the content store, publishing."""

"""The download pipeline compared with aria2c and wget."""

"""The download pipeline beside aria2c and wget."""

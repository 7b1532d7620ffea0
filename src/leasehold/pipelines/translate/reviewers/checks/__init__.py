"""The checks, by what they read: each function is one reviewer."""

"""HTTP: connections, the client, canonical URLs."""

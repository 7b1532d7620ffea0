"""Leasehold beside its peers: the same jobs, the same server, one run. `python -m bench.beside --quick`."""

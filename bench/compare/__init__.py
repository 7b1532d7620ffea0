"""Leasehold compared with other engines: the same jobs, the same server, one run. `python -m bench.compare --quick`."""

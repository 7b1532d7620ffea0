"""The runtime: a worker is a claimer, a runner, a committer and a heartbeat around its leases; and upkeep."""

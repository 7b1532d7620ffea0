"""The runtime.

A worker is a claimer, a runner, a committer and a heartbeat around the leases it holds; and upkeep.
"""

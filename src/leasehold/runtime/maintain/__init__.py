"""What a worker does apart from running tasks: renew leases, reclaim, advance."""

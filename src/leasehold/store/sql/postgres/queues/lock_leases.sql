-- lock_leases: Let claims that are under way end, and keep new ones out until this transaction ends.
LOCK TABLE leasehold.lease IN SHARE ROW EXCLUSIVE MODE

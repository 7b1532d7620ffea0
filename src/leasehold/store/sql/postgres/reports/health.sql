-- health: Read what a doctor asks: the clock, how much stands where, the oldest expired lease, who is at work.
SELECT leasehold.leasehold_now() AS now,
    (SELECT count(*) FROM leasehold.waiting) AS waiting,
    (SELECT count(*) FROM leasehold.ready) AS ready,
    (SELECT count(*) FROM leasehold.lease) AS running,
    (SELECT count(*) FROM leasehold.unsettled) AS unsettled,
    (SELECT min(expires_at) FROM leasehold.lease WHERE expires_at <= leasehold.leasehold_now()) AS expired_at,
    (SELECT count(*) FROM leasehold.worker WHERE ended_at IS NULL) AS workers,
    version() AS version

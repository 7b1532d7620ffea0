-- health: Read what a doctor asks: the clock, how much stands where, the oldest expired lease, who is at work.
SELECT leasehold_now() AS now,
    (SELECT count(*) FROM main.waiting) AS waiting,
    (SELECT count(*) FROM main.ready) AS ready,
    (SELECT count(*) FROM main.lease) AS running,
    (SELECT count(*) FROM main.unsettled) AS unsettled,
    (SELECT min(expires_at) FROM main.lease WHERE expires_at <= leasehold_now()) AS expired_at,
    (SELECT count(*) FROM main.worker WHERE ended_at IS NULL) AS workers,
    'SQLite ' || sqlite_version() AS version

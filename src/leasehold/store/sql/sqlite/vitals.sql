-- vitals: Read what a doctor asks: the clock, how much stands where, the oldest expired lease, who is at work.
SELECT leasehold_now() AS now,
    (SELECT count(*) FROM waiting) AS waiting,
    (SELECT count(*) FROM ready) AS ready,
    (SELECT count(*) FROM lease) AS running,
    (SELECT count(*) FROM unsettled) AS unsettled,
    (SELECT min(expires_at) FROM lease WHERE expires_at <= leasehold_now()) AS expired_at,
    (SELECT count(*) FROM worker WHERE gone_at IS NULL) AS workers,
    'SQLite ' || sqlite_version() AS version

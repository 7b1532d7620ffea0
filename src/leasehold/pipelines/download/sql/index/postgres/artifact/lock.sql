-- lock: Keep others from writing rows until this transaction has ended, so that no two are both the first of a content.
SELECT pg_advisory_xact_lock(7331043)

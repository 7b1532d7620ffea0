-- horizon: Number the oldest transaction that is under way, and the next to begin.
SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS oldest,
    pg_snapshot_xmax(pg_current_snapshot())::text::bigint AS next

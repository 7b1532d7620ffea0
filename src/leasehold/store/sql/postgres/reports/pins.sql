-- pins: List what keeps dead rows from being removed: old transactions, prepared ones, and replication slots.
SELECT 'transaction' AS what, pid::text AS name,
    (extract(epoch FROM clock_timestamp() - xact_start) * 1000000)::bigint AS age_us,
    concat_ws(', ', nullif(application_name, ''), usename, client_addr, state) AS detail
FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'
  AND xact_start < clock_timestamp() - %(age)s::bigint * interval '1 microsecond'
UNION ALL
SELECT 'prepared', gid, (extract(epoch FROM clock_timestamp() - prepared) * 1000000)::bigint, owner::text
FROM pg_prepared_xacts
WHERE database = current_database()
  AND prepared < clock_timestamp() - %(age)s::bigint * interval '1 microsecond'
UNION ALL
SELECT 'slot', slot_name, NULL, slot_type || coalesce(', ' || plugin, '')
FROM pg_replication_slots
WHERE NOT active AND (xmin IS NOT NULL OR catalog_xmin IS NOT NULL)
  AND (database IS NULL OR database = current_database())
UNION ALL
SELECT 'hidden', count(*)::text, NULL, NULL FROM pg_stat_activity
WHERE datname = current_database() AND query = '<insufficient privilege>'
HAVING count(*) > 0
ORDER BY 1 DESC, 3 DESC

-- notify: Wake so many listeners of each group that serve a queue, those with room first; if none shows itself, all.
-- The setting avoids a wait for the disk; behind a pooler it must not stay.
SELECT set_config('synchronous_commit', 'off', true),
    pg_notify(coalesce('leasehold_' || chosen.pid, 'leasehold'), %(hint)s)
FROM (SELECT 1) AS once
LEFT JOIN (
    SELECT ranked.pid FROM (
        SELECT shown.pid, row_number() OVER (
            PARTITION BY split_part(shown.application_name, '-', 2)
            ORDER BY split_part(shown.application_name, '-', 4) DESC, random()) AS place
        FROM pg_stat_get_activity(NULL) AS shown
        WHERE starts_with(shown.application_name, 'leasehold-')
            AND shown.datid = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND shown.pid <> %(sender)s::integer
            AND (split_part(shown.application_name, '-', 3) = 'any' OR %(code)s::text = ''
                OR %(code)s::text = ANY(string_to_array(split_part(shown.application_name, '-', 3), '.')))
    ) AS ranked
    WHERE ranked.place <= %(most)s::integer
) AS chosen ON true
WHERE chosen.pid IS NOT NULL OR %(sender)s::integer = 0

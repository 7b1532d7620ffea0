-- open: Count by provider what is due, what waits for a person, what failed and what is marked wrongly.
SELECT leasehold_now() AS now, provider, sum(late), min(due_at), sum(in_doubt), sum(reconciling), sum(failed),
    sum(inconsistent) FROM (
    SELECT provider, 1 AS late, due_at, 0 AS in_doubt, 0 AS reconciling, 0 AS failed, 0 AS inconsistent
    FROM main.delivery WHERE due_at IS NOT NULL AND due_at <= leasehold_now()
    UNION ALL
    SELECT provider, 0, NULL, CASE status WHEN 'in_doubt' THEN 1 ELSE 0 END,
        CASE status WHEN 'reconciling' THEN 1 ELSE 0 END,
        CASE status WHEN 'failed' THEN 1 ELSE 0 END, 0
    FROM main.delivery WHERE status IN ('failed', 'in_doubt', 'reconciling')
    UNION ALL
    SELECT provider, 0, NULL, 0, 0, 0, 1 FROM main.delivery
    WHERE ((status = 'sent' AND (notified_at IS NULL OR notification_id IS NULL))
    OR (status IN ('pending', 'sending', 'failed') AND notified_at IS NOT NULL))
) AS counted GROUP BY provider ORDER BY provider

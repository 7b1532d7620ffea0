-- pulse: Return everything an idle worker asks: what is ready, due, expired, limited, cancelled, ended or to be sent.
WITH clock AS MATERIALIZED (SELECT leasehold.leasehold_now() AS now)
SELECT clock.now,
    EXISTS (SELECT 1 FROM leasehold.unsettled) AS unsettled,
    (SELECT min(due_at) FROM leasehold.waiting WHERE due_at IS NOT NULL) AS due_at,
    EXISTS (SELECT 1 FROM leasehold.lease WHERE expires_at <= clock.now AND expires_at > %(since)s::bigint) AS expired,
    CASE WHEN %(wants_work)s::boolean THEN EXISTS (
        SELECT 1 FROM leasehold.ready
        WHERE ready.queue = ANY(ARRAY(SELECT jsonb_array_elements_text(%(queues)s::jsonb)))
            AND ready.route = ANY(ARRAY(SELECT jsonb_array_elements_text(%(routes)s::jsonb))))
            ELSE false END AS ready,
    EXISTS (SELECT 1 FROM leasehold.ready WHERE strpos(ready.queue, '/') > 0) AS branched,
    (SELECT coalesce(json_agg(DISTINCT jsonb_build_array(route, losses)), '[]'::json)::text FROM leasehold.ready
        WHERE left(route, 1) = '!') AS suspects,
    (SELECT max(id) FROM leasehold.dead_letter WHERE error_class = 'WORKER_CRASHED') AS crashed,
    (SELECT coalesce(json_agg(json_build_array(name, capacity)), '[]'::json)::text
        FROM leasehold.queue WHERE capacity IS NOT NULL) AS limited,
    (SELECT coalesce(json_agg(json_build_array(task_id, fence, cancel_reason)), '[]'::json)::text
        FROM leasehold.lease WHERE worker = %(worker)s::integer AND cancel_reason IS NOT NULL) AS cancels,
    (SELECT coalesce(json_agg(json_build_array(id, pid, birth, pending_file)), '[]'::json)::text
        FROM leasehold.worker
        WHERE boot = %(boot)s AND namespace = %(namespace)s AND ended_at IS NULL
            AND id <> %(worker)s::integer) AS neighbours,
    (SELECT min(first.due_at) FROM jsonb_array_elements_text(%(providers)s::jsonb) AS served (provider)
        CROSS JOIN LATERAL (
            SELECT delivery.due_at FROM leasehold.delivery
            WHERE delivery.provider = served.provider AND delivery.due_at IS NOT NULL ORDER BY delivery.due_at LIMIT 1
        ) AS first) AS delivery_due_at,
    EXISTS (
        SELECT 1 FROM leasehold.delivery
        WHERE ((status = 'sent' AND (notified_at IS NULL OR notification_id IS NULL))
            OR (status IN ('pending', 'sending', 'failed') AND notified_at IS NOT NULL))
          AND provider = ANY(ARRAY(SELECT jsonb_array_elements_text(%(providers)s::jsonb)))) AS deliveries_odd,
    (SELECT min(at) FROM leasehold.deadline) AS deadline_at
FROM clock

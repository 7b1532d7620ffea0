-- pulse: Return everything an idle worker asks: what is ready, due, expired, limited, cancelled, ended or to be sent.
SELECT leasehold_now() AS now,
    EXISTS (SELECT 1 FROM main.unsettled) AS unsettled,
    (SELECT min(due_at) FROM main.waiting WHERE due_at IS NOT NULL) AS due_at,
    EXISTS (SELECT 1 FROM main.lease WHERE expires_at <= leasehold_now() AND expires_at > :since) AS expired,
    CASE WHEN :wants_work THEN EXISTS (
        SELECT 1 FROM main.ready
        WHERE ready.queue IN (SELECT value FROM json_each(:queues))
          AND ready.route IN (SELECT value FROM json_each(:routes))) ELSE 0 END AS ready,
    EXISTS (SELECT 1 FROM main.ready WHERE instr(ready.queue, '/') > 0) AS branched,
    (SELECT json_group_array(json_array(route, losses))
        FROM (SELECT DISTINCT route, losses FROM main.ready WHERE substr(route, 1, 1) = '!')) AS suspects,
    (SELECT max(id) FROM main.dead_letter WHERE error_class = 'WORKER_CRASHED') AS crashed,
    (SELECT json_group_array(json_array(name, capacity))
        FROM main.queue WHERE capacity IS NOT NULL) AS limited,
    (SELECT json_group_array(json_array(task_id, fence, cancel_reason))
        FROM main.lease WHERE worker = :worker AND cancel_reason IS NOT NULL) AS cancels,
    (SELECT json_group_array(json_array(id, pid, birth, pending_file))
        FROM main.worker
        WHERE boot = :boot AND namespace = :namespace AND ended_at IS NULL AND id <> :worker) AS neighbours,
    (SELECT min((SELECT due_at FROM main.delivery
            WHERE delivery.provider = served.value AND due_at IS NOT NULL ORDER BY due_at LIMIT 1))
        FROM json_each(:providers) AS served) AS delivery_due_at,
    EXISTS (
        SELECT 1 FROM main.delivery
        WHERE ((status = 'sent' AND (notified_at IS NULL OR notification_id IS NULL))
            OR (status IN ('pending', 'sending', 'failed') AND notified_at IS NOT NULL))
          AND provider IN (SELECT value FROM json_each(:providers))) AS deliveries_odd,
    (SELECT min(at) FROM main.deadline) AS deadline_at

-- settle: End leased attempts, each only while its lease is live; a cancelled task ends CANCELLED in any case.
-- The time is compared as a difference, so that no plan looks leases up by their expiry.
WITH clock AS MATERIALIZED (SELECT leasehold.leasehold_now() AS now),
given AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(settlements)s::jsonb) AS i (
        task_id bigint, fence integer, status text, output text, failure text, delay_us bigint, detail text,
        deliveries jsonb)
),
item AS MATERIALIZED (
    SELECT given.*, CASE WHEN given.deliveries IS NULL THEN false ELSE EXISTS (
        SELECT 1 FROM jsonb_to_recordset(given.deliveries) AS post (
            subject text, recipient text, version integer, message text, provider text)
        JOIN leasehold.delivery ON delivery.subject = post.subject AND delivery.recipient = post.recipient
            AND delivery.version = post.version
        WHERE delivery.message <> post.message OR delivery.provider <> post.provider) END AS clash
    FROM given
),
ended AS (
    DELETE FROM leasehold.lease USING item, clock
    WHERE lease.task_id = ANY(ARRAY(SELECT task_id FROM item))
      AND lease.task_id = item.task_id AND lease.fence = item.fence AND lease.expires_at - clock.now > 0
    RETURNING lease.task_id, lease.fence, lease.epoch, lease.attempt, lease.worker, lease.has_dependents, lease.limited,
        CASE WHEN lease.cancel_reason IS NOT NULL THEN 'CANCELLED' WHEN item.clash THEN 'ERROR'
            ELSE item.status END AS status,
        CASE WHEN lease.cancel_reason IS NOT NULL OR NOT item.clash THEN item.output END AS output,
        coalesce(lease.cancel_reason, CASE WHEN item.clash THEN %(conflict)s::text ELSE item.failure END) AS failure,
        coalesce(lease.cancel_reason, CASE WHEN item.clash THEN %(conflict)s::text
            ELSE coalesce(item.detail, item.failure) END) AS detail,
        item.delay_us, item.deliveries, clock.now, lease.losses, lease.mark
),
linked AS MATERIALIZED (
    SELECT *, leasehold.chain_link(mark, now, name, fence, attempt, worker,
        CASE status WHEN 'DONE' THEN coalesce(detail, '') || chr(31) || coalesce(output, '') ELSE detail END) AS link
    FROM (
        SELECT *, CASE status WHEN 'DONE' THEN 'done' WHEN 'ERROR' THEN 'failed' WHEN 'RETRY' THEN 'retried'
            ELSE 'cancelled' END AS name FROM ended
    ) AS named
),
recorded AS (
    INSERT INTO leasehold.outcome (task_id, epoch, fence, status, output, failure, finished_at, mark)
    SELECT task_id, epoch, fence, status, output, failure, now, link FROM linked WHERE status <> 'RETRY'
),
retried AS (
    INSERT INTO leasehold.waiting (task_id, due_at, unmet, attempt, fence, epoch, losses, mark)
    SELECT task_id, now + coalesce(delay_us, 0), 0, attempt, fence, epoch, losses, link FROM linked WHERE status = 'RETRY'
),
buried AS (
    INSERT INTO leasehold.dead_letter (task_id, epoch, fence, error_class, failure, attempts, first_failure_at,
        last_failure_at, escalated)
    SELECT dead.task_id, dead.epoch, dead.fence, dead.error_class, dead.failure, dead.attempt,
        coalesce((SELECT min(event.at) FROM leasehold.event WHERE event.task_id = dead.task_id
            AND event.name IN ('retried', 'reclaimed')
            AND event.fence > coalesce((SELECT max(fence) FROM leasehold.dead_letter WHERE task_id = dead.task_id), 0)),
            dead.now),
        dead.now, coalesce(NOT dead.retryable AND leasehold.buried_as(dead.task_id) = dead.error_class, false)
    FROM (
        SELECT *, coalesce(failure::jsonb ->> 'error_class', 'UNCLASSIFIED') AS error_class,
            coalesce((failure::jsonb ->> 'retryable')::boolean, false) AS retryable
        FROM ended WHERE status = 'ERROR'
    ) AS dead
),
posted AS (
    INSERT INTO leasehold.delivery (task_id, subject, recipient, version, message, provider, due_at, created_at)
    SELECT ended.task_id, post.subject, post.recipient, post.version, post.message, post.provider, ended.now, ended.now
    FROM ended CROSS JOIN LATERAL jsonb_to_recordset(ended.deliveries) AS post (
        subject text, recipient text, version integer, message text, provider text)
    WHERE ended.status = 'DONE' AND ended.deliveries IS NOT NULL
    -- The conflict is with a message that was committed after our snapshot.
    ON CONFLICT (subject, recipient, version) DO UPDATE SET message = delivery.message
    WHERE leasehold.retry_if(delivery.message <> EXCLUDED.message OR delivery.provider <> EXCLUDED.provider)
),
noted AS (
    INSERT INTO leasehold.unsettled (task_id) SELECT task_id FROM ended WHERE has_dependents AND status <> 'RETRY'
),
freed AS (
    UPDATE leasehold.slot SET task_id = NULL WHERE task_id = ANY(ARRAY(SELECT task_id FROM ended WHERE limited))
),
logged AS (
    INSERT INTO leasehold.event (task_id, at, name, fence, attempt, worker, detail, mark)
    SELECT task_id, now, name, fence, attempt, worker, detail, link FROM linked
)
SELECT task_id, fence, status, has_dependents FROM ended

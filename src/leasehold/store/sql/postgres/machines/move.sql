-- move: Change the states of jobs along the arrows of their machines, each only while its task's lease stands.
-- The states are locked before they are looked at, so that what is compared is what is changed.
WITH clock AS MATERIALIZED (SELECT leasehold.leasehold_now() AS now),
item AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(moves)s::jsonb) AS i (
        job_id bigint, key text, task_id bigint, fence integer, machine text, subject text, target text,
            ordinal integer, tail text)
),
standing AS MATERIALIZED (
    SELECT lease.task_id, lease.fence FROM leasehold.lease, clock
    WHERE lease.task_id = ANY(ARRAY(SELECT task_id FROM item)) AND lease.expires_at - clock.now > 0
    ORDER BY lease.task_id FOR NO KEY UPDATE OF lease
),
held AS MATERIALIZED (
    SELECT state.job_id, state.subject, state.machine, state.name FROM leasehold.state
    WHERE state.job_id = ANY(ARRAY(SELECT job_id FROM item))
        AND (state.job_id, state.subject) IN (SELECT job_id, subject FROM item)
    ORDER BY state.job_id, state.subject FOR UPDATE OF state
),
asked AS MATERIALIZED (
    SELECT item.*, held.job_id IS NULL AS fresh, coalesce(held.machine, machine.name) AS governing,
        coalesce(held.name, machine.initial) AS source
    FROM item JOIN standing ON standing.task_id = item.task_id AND standing.fence = item.fence
    JOIN leasehold.machine ON machine.name = item.machine
    LEFT JOIN held ON held.job_id = item.job_id AND held.subject = item.subject
),
judged AS MATERIALIZED (
    SELECT asked.*, '{"from":"' || source || '",' || tail AS detail,
        CASE WHEN (
                SELECT count(*) FROM leasehold.event WHERE event.task_id = asked.task_id AND event.name = 'moved'
                  AND event.detail = '{"from":"' || (event.detail::jsonb ->> 'from') || '",' || asked.tail
            ) >= ordinal THEN 'again'
            WHEN EXISTS (
                SELECT 1 FROM leasehold.arrow WHERE arrow.machine = asked.governing AND arrow.source = asked.source
                  AND arrow.target = asked.target
            ) THEN 'moved' ELSE 'denied' END AS verdict
    FROM asked
),
begun AS (
    INSERT INTO leasehold.state (job_id, subject, machine, name, at)
    SELECT job_id, subject, machine, target, clock.now FROM judged, clock WHERE verdict = 'moved' AND fresh
    ON CONFLICT (job_id, subject) DO UPDATE SET name = state.name  -- one that came to stand since our snapshot
    WHERE leasehold.retry_if(true)
),
followed AS (
    UPDATE leasehold.state SET name = judged.target, at = clock.now FROM judged, clock
    WHERE judged.verdict = 'moved' AND NOT judged.fresh AND state.job_id = judged.job_id
        AND state.subject = judged.subject
),
chained AS (
    UPDATE leasehold.lease
    SET mark = leasehold.chain_link(lease.mark, clock.now, 'moved', lease.fence, lease.attempt, lease.worker,
        judged.detail)
    FROM judged, clock
    WHERE judged.verdict = 'moved' AND lease.task_id = ANY(ARRAY(SELECT task_id FROM judged))
      AND lease.task_id = judged.task_id AND lease.fence = judged.fence
    RETURNING lease.task_id, lease.fence, lease.attempt, lease.worker, lease.mark, judged.detail
),
logged AS (
    INSERT INTO leasehold.event (task_id, at, name, fence, attempt, worker, detail, mark)
    SELECT task_id, clock.now, 'moved', fence, attempt, worker, detail, mark FROM chained, clock
)
SELECT task_id, fence, key, verdict, source FROM judged

-- enter: Commit intents of effects and record how earlier ones ended, each only while its task's lease stands.
-- Leases are locked against their end, not against renewal. The laterals are look-ups by key whatever the statistics.
WITH clock AS MATERIALIZED (SELECT leasehold.leasehold_now() AS now),
intent AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(intents)s::jsonb) AS i (
        job_id bigint, key text, task_id bigint, fence integer, attempt smallint, number integer, kind text,
            fields text)
),
record AS MATERIALIZED (
    SELECT * FROM jsonb_to_recordset(%(records)s::jsonb) AS r (
        job_id bigint, key text, task_id bigint, fence integer, result text, failure text)
),
standing AS MATERIALIZED (
    SELECT lease.task_id, lease.fence FROM leasehold.lease, clock
    WHERE lease.task_id = ANY(ARRAY(SELECT task_id FROM intent UNION SELECT task_id FROM record))
      AND lease.expires_at - clock.now > 0
    ORDER BY lease.task_id FOR KEY SHARE OF lease
),
asked AS MATERIALIZED (
    SELECT intent.*, known.key IS NOT NULL AS known,
        known.task_id = intent.task_id AND known.fence = intent.fence AS own, known.result, known.failure
    FROM intent JOIN standing ON standing.task_id = intent.task_id AND standing.fence = intent.fence
    LEFT JOIN LATERAL (
        SELECT effect.key, effect.task_id, effect.fence, effect.result, effect.failure FROM leasehold.effect
        WHERE effect.job_id = intent.job_id AND effect.key = intent.key OFFSET 0
    ) AS known ON true
),
added AS (
    INSERT INTO leasehold.effect (job_id, key, task_id, number, kind, fields, fence, attempt, intended_at)
    SELECT job_id, key, task_id, number, kind, fields, fence, attempt, clock.now FROM asked, clock WHERE NOT known
),
again AS (
    UPDATE leasehold.effect SET failure = NULL, recorded_at = NULL, task_id = asked.task_id, fence = asked.fence,
        attempt = asked.attempt,
        intended_at = clock.now
    FROM asked, clock
    WHERE asked.failure IS NOT NULL AND effect.job_id = asked.job_id AND effect.key = asked.key
        AND effect.result IS NULL
),
ended AS MATERIALIZED (
    SELECT record.*, known.result AS known_result
    FROM record JOIN standing ON standing.task_id = record.task_id AND standing.fence = record.fence
    JOIN LATERAL (
        SELECT effect.result FROM leasehold.effect
        WHERE effect.job_id = record.job_id AND effect.key = record.key OFFSET 0
    ) AS known ON true
),
written AS (
    UPDATE leasehold.effect SET result = ended.result, failure = ended.failure, recorded_at = clock.now
    FROM ended, clock
    WHERE effect.job_id = ended.job_id AND effect.key = ended.key AND effect.result IS NULL
)
SELECT task_id, fence, key,
    CASE WHEN result IS NOT NULL THEN 'done' WHEN failure IS NOT NULL OR NOT known OR own THEN 'act'
         ELSE 'doubt' END AS verdict, result
FROM asked
UNION ALL
SELECT task_id, fence, key, 'recorded', NULL FROM ended WHERE known_result IS NULL OR known_result = result

-- prune: Remove jobs that have ended, with all jobs below them and everything on record of them.
WITH ended AS (
    DELETE FROM leasehold.outcome
    WHERE task_id = ANY(ARRAY(SELECT value::bigint FROM jsonb_array_elements_text(%(jobs)s::jsonb)))
    RETURNING task_id
),
linked AS MATERIALIZED (
    SELECT job_id AS task_id FROM leasehold.link WHERE root_id = ANY(ARRAY(SELECT task_id FROM ended))
),
gone AS MATERIALIZED (SELECT task_id FROM ended UNION ALL SELECT task_id FROM linked),
part AS MATERIALIZED (
    SELECT id FROM leasehold.task WHERE job_id = ANY(ARRAY(SELECT task_id FROM gone)) AND parent_id IS NOT NULL
),
member AS MATERIALIZED (SELECT task_id AS id FROM gone UNION ALL SELECT id FROM part),
outcomes AS (
    DELETE FROM leasehold.outcome
    WHERE task_id = ANY(ARRAY(SELECT id FROM part UNION ALL SELECT task_id FROM linked))
),
past AS (DELETE FROM leasehold.outcome_past WHERE task_id = ANY(ARRAY(SELECT id FROM member))),
needs AS (DELETE FROM leasehold.need WHERE task_id = ANY(ARRAY(SELECT id FROM part))),
letters AS (DELETE FROM leasehold.dead_letter WHERE task_id = ANY(ARRAY(SELECT id FROM member))),
deliveries AS (DELETE FROM leasehold.delivery WHERE task_id = ANY(ARRAY(SELECT id FROM member))),
deadlines AS (DELETE FROM leasehold.deadline WHERE job_id = ANY(ARRAY(SELECT task_id FROM gone))),
budgets AS (DELETE FROM leasehold.budget WHERE job_id = ANY(ARRAY(SELECT task_id FROM gone))),
spends AS (DELETE FROM leasehold.spend WHERE job_id = ANY(ARRAY(SELECT task_id FROM gone))),
links AS (DELETE FROM leasehold.link WHERE job_id = ANY(ARRAY(SELECT task_id FROM linked))),
states AS (DELETE FROM leasehold.state WHERE job_id = ANY(ARRAY(SELECT task_id FROM gone))),
effects AS (DELETE FROM leasehold.effect WHERE job_id = ANY(ARRAY(SELECT task_id FROM gone)) RETURNING 1),
events AS (DELETE FROM leasehold.event WHERE task_id = ANY(ARRAY(SELECT id FROM member)) RETURNING 1),
tasks AS (DELETE FROM leasehold.task WHERE id = ANY(ARRAY(SELECT id FROM member)) RETURNING 1)
SELECT (SELECT count(*) FROM gone) AS jobs, (SELECT count(*) FROM tasks) AS tasks,
    (SELECT count(*) FROM events) AS events, (SELECT count(*) FROM effects) AS effects

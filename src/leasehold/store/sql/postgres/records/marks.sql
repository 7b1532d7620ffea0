-- marks: Read the chain of marks of these tasks in order, and last the head that stands where each task stands.
WITH wanted AS MATERIALIZED (SELECT value::bigint AS task_id FROM jsonb_array_elements_text(%(tasks)s::jsonb))
SELECT event.task_id, event.id AS event_id, event.mark
FROM leasehold.event WHERE event.task_id = ANY(ARRAY(SELECT task_id FROM wanted))
UNION ALL
SELECT waiting.task_id, NULL, waiting.mark FROM leasehold.waiting
WHERE waiting.task_id = ANY(ARRAY(SELECT task_id FROM wanted))
UNION ALL
SELECT ready.task_id, NULL, ready.mark FROM leasehold.ready WHERE ready.task_id = ANY(ARRAY(SELECT task_id FROM wanted))
UNION ALL
SELECT lease.task_id, NULL, lease.mark FROM leasehold.lease WHERE lease.task_id = ANY(ARRAY(SELECT task_id FROM wanted))
UNION ALL
SELECT outcome.task_id, NULL, outcome.mark FROM leasehold.outcome
WHERE outcome.task_id = ANY(ARRAY(SELECT task_id FROM wanted))
ORDER BY 1, 2 NULLS LAST

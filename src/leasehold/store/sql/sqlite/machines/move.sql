-- move: Change the states of jobs along the arrows of their machines, each only while its task's lease stands.
-- Differs from PostgreSQL: a scratch table carries the rows from step to step, since no CTE may write here.
INSERT INTO temp.leasehold_step (job_id, key, task_id, fence, attempt, worker, machine, subject, target, source,
    verdict, detail, mark)
SELECT item.value ->> 'job_id', item.value ->> 'key', lease.task_id, lease.fence, lease.attempt, lease.worker,
    machine.name,
    item.value ->> 'subject', item.value ->> 'target', coalesce(state.name, machine.initial),
    CASE WHEN (
            SELECT count(*) FROM main.event WHERE event.task_id = lease.task_id AND event.name = 'moved'
              AND event.detail = '{"from":"' || (event.detail ->> 'from') || '",' || (item.value ->> 'tail')
        ) >= item.value ->> 'ordinal' THEN 'again'
        WHEN EXISTS (
            SELECT 1 FROM main.arrow WHERE arrow.machine = coalesce(state.machine, machine.name)
              AND arrow.source = coalesce(state.name, machine.initial) AND arrow.target = item.value ->> 'target'
        ) THEN 'moved' ELSE 'denied' END,
    '{"from":"' || coalesce(state.name, machine.initial) || '",' || (item.value ->> 'tail'), lease.mark
FROM json_each(:moves) AS item
CROSS JOIN main.lease ON lease.task_id = item.value ->> 'task_id' AND lease.fence = item.value ->> 'fence'
JOIN main.machine ON machine.name = item.value ->> 'machine'
LEFT JOIN main.state ON state.job_id = item.value ->> 'job_id' AND state.subject = item.value ->> 'subject'
WHERE lease.expires_at > leasehold_now();

UPDATE temp.leasehold_step SET mark = unhex(made.value ->> 1)
FROM json_each(leasehold_links((
    SELECT json_group_array(json_array(number, hex(mark), leasehold_now(), 'moved', fence, attempt, worker, detail))
    FROM temp.leasehold_step WHERE verdict = 'moved'))) AS made
WHERE leasehold_step.number = made.value ->> 0;

INSERT INTO main.state (job_id, subject, machine, name, at)
SELECT job_id, subject, machine, target, leasehold_now() FROM temp.leasehold_step AS step
WHERE verdict = 'moved' AND NOT EXISTS (SELECT 1 FROM main.state
    WHERE state.job_id = step.job_id AND state.subject = step.subject);

UPDATE main.state SET name = step.target, at = leasehold_now()
FROM temp.leasehold_step AS step
WHERE step.verdict = 'moved' AND state.job_id = step.job_id AND state.subject = step.subject
    AND state.name = step.source;

UPDATE main.lease SET mark = step.mark
FROM temp.leasehold_step AS step
WHERE step.verdict = 'moved' AND lease.task_id = step.task_id AND lease.fence = step.fence;

INSERT INTO main.event (task_id, at, name, fence, attempt, worker, detail, mark)
SELECT task_id, leasehold_now(), 'moved', fence, attempt, worker, detail, mark FROM temp.leasehold_step
WHERE verdict = 'moved' ORDER BY number;

SELECT task_id, fence, key, verdict, source FROM temp.leasehold_step;

DELETE FROM temp.leasehold_step;

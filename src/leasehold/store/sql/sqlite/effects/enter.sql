-- enter: Commit intents of effects and record how earlier ones ended, each only while its task's lease stands.
-- Differs from PostgreSQL: a scratch table carries the rows from step to step, since no CTE may write here.
INSERT INTO temp.leasehold_ledger (job_id, key, task_id, fence, attempt, ordinal, kind, fields, verdict, result)
SELECT item.value ->> 'job_id', item.value ->> 'key', item.value ->> 'task_id', item.value ->> 'fence',
    item.value ->> 'attempt',
    item.value ->> 'number', item.value ->> 'kind', item.value ->> 'fields',
    CASE WHEN effect.key IS NULL THEN 'new' WHEN effect.result IS NOT NULL THEN 'done'
        WHEN effect.failure IS NOT NULL THEN 'again'
        WHEN effect.task_id = item.value ->> 'task_id' AND effect.fence = item.value ->> 'fence'
        THEN 'act' ELSE 'doubt' END,
    effect.result
FROM json_each(:intents) AS item
CROSS JOIN main.lease ON lease.task_id = item.value ->> 'task_id' AND lease.fence = item.value ->> 'fence'
LEFT JOIN main.effect ON effect.job_id = item.value ->> 'job_id' AND effect.key = item.value ->> 'key'
WHERE lease.expires_at > leasehold_now();

INSERT INTO main.effect (job_id, key, task_id, number, kind, fields, fence, attempt, intended_at)
SELECT job_id, key, task_id, ordinal, kind, fields, fence, attempt, leasehold_now() FROM temp.leasehold_ledger
WHERE verdict = 'new';

UPDATE main.effect SET failure = NULL, recorded_at = NULL, task_id = asked.task_id, fence = asked.fence,
    attempt = asked.attempt,
    intended_at = leasehold_now()
FROM temp.leasehold_ledger AS asked
WHERE asked.verdict = 'again' AND effect.job_id = asked.job_id AND effect.key = asked.key AND effect.result IS NULL;

INSERT INTO temp.leasehold_ledger (job_id, key, task_id, fence, verdict, result, failure, known_result)
SELECT item.value ->> 'job_id', item.value ->> 'key', item.value ->> 'task_id', item.value ->> 'fence', 'recorded',
    item.value ->> 'result', item.value ->> 'failure', effect.result
FROM json_each(:records) AS item
CROSS JOIN main.lease ON lease.task_id = item.value ->> 'task_id' AND lease.fence = item.value ->> 'fence'
JOIN main.effect ON effect.job_id = item.value ->> 'job_id' AND effect.key = item.value ->> 'key'
WHERE lease.expires_at > leasehold_now();

UPDATE main.effect SET result = ended.result, failure = ended.failure, recorded_at = leasehold_now()
FROM temp.leasehold_ledger AS ended
WHERE ended.verdict = 'recorded' AND effect.job_id = ended.job_id AND effect.key = ended.key AND effect.result IS NULL;

SELECT task_id, fence, key, CASE WHEN verdict IN ('new', 'again') THEN 'act' ELSE verdict END AS verdict,
    CASE WHEN verdict <> 'recorded' THEN result END AS result
FROM temp.leasehold_ledger WHERE verdict <> 'recorded' OR known_result IS NULL OR known_result = result;

DELETE FROM temp.leasehold_ledger;

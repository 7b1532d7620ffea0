-- migration: What a script can read: jobs, operations and the version of both. They are views of the engine's own tables.
CREATE TABLE IF NOT EXISTS _meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;

CREATE TABLE IF NOT EXISTS _abandoned (
    job_id INTEGER NOT NULL, key TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (job_id, key)) STRICT, WITHOUT ROWID;

CREATE VIEW IF NOT EXISTS artifact_jobs AS
SELECT CAST(task.id AS TEXT) AS job_id, task.payload ->> 'work_id' AS work_id, task.payload ->> 'artifact_id' AS artifact_id,
    task.payload ->> 'url' AS canonical_url, job_state.state,
    iif(worker.boot = '', worker.host, worker.host || ':' || worker.pid) AS lease_owner,
    lease.expires_at / 1000000.0 AS lease_until, task.created_at / 1000000.0 AS created_at,
    max(task.created_at, coalesce(outcome.finished_at, 0), coalesce(job_state.at, 0), coalesce(lease.started_at, 0)) / 1000000.0 AS updated_at,
    task.key AS idempotency_key
FROM task
JOIN job_state ON job_state.job_id = task.id
LEFT JOIN lease ON lease.task_id = task.id
LEFT JOIN worker ON worker.id = lease.worker
LEFT JOIN outcome ON outcome.task_id = task.id
WHERE task.kind = 'artifact' AND task.parent_id IS NULL;

CREATE VIEW IF NOT EXISTS artifact_ops AS
SELECT effect.fields ->> 'op' AS op_key, CAST(effect.job_id AS TEXT) AS job_id, effect.kind AS op_type,
    effect.intended_at / 1000000.0 AS started_at, effect.recorded_at / 1000000.0 AS finished_at,
    CASE WHEN effect.result IS NOT NULL THEN coalesce(iif(json_type(effect.result) = 'object', effect.result ->> 'code', NULL), 'OK')
         WHEN effect.failure IS NOT NULL THEN effect.failure ->> 'error_class'
         WHEN _abandoned.at >= effect.intended_at THEN 'ABANDONED' END AS result_code,
    effect.result AS result_json
FROM effect
LEFT JOIN _abandoned ON _abandoned.job_id = effect.job_id AND _abandoned.key = effect.key
WHERE effect.fields ->> 'op' IS NOT NULL;

CREATE INDEX IF NOT EXISTS artifact_op ON effect (fields ->> 'op');

-- result_of_job: Read what came of an operation on a job.
SELECT result_json FROM artifact_ops WHERE op_key = :op AND job_id = :job AND result_json IS NOT NULL

-- result_by_op_and_job: Read the result of an operation on a job.
SELECT result_json FROM artifact_ops WHERE op_key = :op AND job_id = :job AND result_json IS NOT NULL

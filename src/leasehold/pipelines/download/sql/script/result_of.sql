-- result_of: Read what came of an operation.
SELECT result_json FROM artifact_ops WHERE op_key = :op AND result_json IS NOT NULL LIMIT 1

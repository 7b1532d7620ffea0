-- result_by_op: Read the result of an operation.
SELECT result_json FROM artifact_ops WHERE op_key = :op AND result_json IS NOT NULL LIMIT 1

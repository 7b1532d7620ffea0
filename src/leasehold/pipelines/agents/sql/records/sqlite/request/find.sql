-- find: Read how a request was answered.
SELECT body_sha256, answer FROM urm_request WHERE endpoint = :endpoint AND client_request_id = :client_request_id

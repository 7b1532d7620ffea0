-- insert: Store how a request was answered.
INSERT INTO urm_request (endpoint, client_request_id, body_sha256, answer, answered_ts)
VALUES (:endpoint, :client_request_id, :body_sha256, :answer, :ts)

-- insert: Store how a request was answered.
INSERT INTO leasehold_agents.urm_request (endpoint, client_request_id, body_sha256, answer, answered_ts)
VALUES (%(endpoint)s, %(client_request_id)s, %(body_sha256)s, %(answer)s, %(ts)s)

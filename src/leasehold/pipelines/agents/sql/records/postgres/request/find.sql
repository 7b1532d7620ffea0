-- find: Read how a request was answered.
SELECT body_sha256, answer FROM leasehold_agents.urm_request
WHERE endpoint = %(endpoint)s AND client_request_id = %(client_request_id)s

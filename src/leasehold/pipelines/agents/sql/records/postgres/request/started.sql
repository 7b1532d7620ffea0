-- started: Count the answered requests that started a session.
SELECT count(*) AS requests FROM leasehold_agents.urm_request
WHERE endpoint = 'urm.copilot.start' AND answer::json ->> 'parent_session_id' = %(parent_session_id)s

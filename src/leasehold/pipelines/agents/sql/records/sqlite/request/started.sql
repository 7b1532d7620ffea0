-- started: Count the answered requests that started a session.
SELECT count(*) AS requests FROM urm_request
WHERE endpoint = 'urm.copilot.start' AND answer ->> 'parent_session_id' = :parent_session_id

-- 0005_peers: The tasks that stood in one task's place: a segment of a job that started anew is made anew.
CREATE VIEW peer AS
SELECT id AS task_id, id AS peer_id FROM task
UNION ALL
SELECT own.id, peer.id FROM task AS own JOIN task AS peer
  ON peer.parent_id = own.parent_id AND peer.stage = own.stage AND coalesce(peer.segment, -1) = coalesce(own.segment, -1) AND peer.id <> own.id
WHERE own.segment IS NOT NULL;

-- convicted: List tasks that died in processes of their own, the latest, while others stand charged for their workers.
-- One that was buried because its losses were spent proves nothing about the others.
SELECT letter.task_id FROM (
    SELECT task_id, failure FROM leasehold.dead_letter WHERE error_class = 'WORKER_CRASHED'
    ORDER BY id DESC LIMIT %(most)s::integer
) AS letter
WHERE letter.failure::jsonb -> 'context' ->> 'losses' IS NOT NULL
  AND coalesce(letter.failure::jsonb -> 'context' ->> 'signal', letter.failure::jsonb -> 'context' ->> 'exit_code')
      IS NOT NULL
  AND EXISTS (SELECT 1 FROM leasehold.event AS own
      JOIN leasehold.event AS other ON other.worker = own.worker AND other.name = 'reclaimed'
      JOIN leasehold.ready ON ready.task_id = other.task_id AND ready.losses > 0
      WHERE own.task_id = letter.task_id AND own.name = 'reclaimed' AND other.task_id <> letter.task_id)

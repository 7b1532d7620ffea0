-- convicted: List tasks that died in processes of their own, the latest, while others stand charged for their workers.
-- One that was buried because its losses were spent proves nothing about the others.
SELECT letter.task_id FROM (
    SELECT task_id, failure FROM main.dead_letter WHERE error_class = 'WORKER_CRASHED' ORDER BY id DESC LIMIT :most
) AS letter
WHERE letter.failure ->> '$.context.losses' IS NOT NULL
  AND coalesce(letter.failure ->> '$.context.signal', letter.failure ->> '$.context.exit_code') IS NOT NULL
  AND EXISTS (SELECT 1 FROM main.event AS own
      CROSS JOIN main.event AS other ON other.worker = own.worker AND other.name = 'reclaimed'
      CROSS JOIN main.ready ON ready.task_id = other.task_id AND ready.losses > 0
      WHERE own.task_id = letter.task_id AND own.name = 'reclaimed' AND other.task_id <> letter.task_id)

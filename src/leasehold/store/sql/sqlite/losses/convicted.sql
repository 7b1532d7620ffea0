-- convicted: List tasks that died in processes of their own, the latest, while others stand charged for their workers.
-- One that was buried because its losses were spent proves nothing about the others.
SELECT letter.task_id FROM (
    SELECT task_id, failure FROM main.dead_letter WHERE error_class = 'WORKER_CRASHED' ORDER BY id DESC LIMIT :most
) AS letter
WHERE letter.failure ->> '$.context.losses' IS NOT NULL
  AND coalesce(letter.failure ->> '$.context.signal', letter.failure ->> '$.context.exit_code') IS NOT NULL
  AND EXISTS (SELECT 1 FROM main.event AS own
      CROSS JOIN main.event AS other ON other.worker = own.worker AND other.name = 'reclaimed'
      WHERE own.task_id = letter.task_id AND own.name = 'reclaimed' AND own.detail ->> 'losses' IS NOT NULL
        AND other.task_id <> letter.task_id AND other.detail ->> 'losses' IS NOT NULL
        AND (EXISTS (SELECT 1 FROM main.ready WHERE ready.task_id = other.task_id AND ready.losses > 0)
          OR EXISTS (SELECT 1 FROM main.waiting WHERE waiting.task_id = other.task_id AND waiting.losses > 0)
          OR EXISTS (SELECT 1 FROM main.lease WHERE lease.task_id = other.task_id AND lease.losses > 0))
        AND other.fence > coalesce((SELECT max(revival.fence) FROM main.event AS revival
            WHERE revival.task_id = other.task_id AND revival.name = 'revived'), 0)
        AND NOT EXISTS (SELECT 1 FROM main.event AS earlier, json_each(earlier.detail, '$.workers') AS known
            WHERE earlier.task_id = other.task_id AND earlier.name = 'cleared' AND known.value = other.worker))

-- progress: Note how far leased attempts have come, each only while its lease stands.
UPDATE main.lease SET progress = item.value ->> 'progress'
FROM json_each(:reports) AS item
WHERE lease.task_id = item.value ->> 'task_id' AND lease.fence = item.value ->> 'fence'
    AND lease.expires_at > leasehold_now()
RETURNING lease.task_id, lease.fence

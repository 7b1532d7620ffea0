-- register: Add a worker process and return its number.
INSERT INTO main.worker (host, boot, namespace, pid, birth, started_at)
VALUES (:host, :boot, :namespace, :pid, :birth, leasehold_now())
RETURNING id

-- register: Add a worker process and return its number.
INSERT INTO leasehold.worker (host, boot, namespace, pid, birth, started_at)
VALUES (%(host)s, %(boot)s, %(namespace)s, %(pid)s::bigint, %(birth)s::bigint, leasehold.leasehold_now())
RETURNING id

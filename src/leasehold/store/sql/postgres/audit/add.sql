-- add: Write down who did what to which row, and when.
INSERT INTO leasehold.audit (at, principal, action, noun, noun_id, detail)
VALUES (leasehold.leasehold_now(), %(principal)s::text, %(action)s::text, %(noun)s::text, %(noun_id)s::bigint,
    %(detail)s::text)
RETURNING id

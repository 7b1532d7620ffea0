-- add: Write down who did what to which row, and when.
INSERT INTO main.audit (at, principal, action, noun, noun_id, detail)
VALUES (leasehold_now(), :principal, :action, :noun, :noun_id, :detail)
RETURNING id

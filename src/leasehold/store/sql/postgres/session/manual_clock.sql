-- manual_clock: Replace the server's clock by one that a test sets.
CREATE TABLE IF NOT EXISTS leasehold.manual_clock (now bigint NOT NULL);

CREATE OR REPLACE FUNCTION leasehold.leasehold_now() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
AS $$ SELECT now FROM leasehold.manual_clock $$;

DELETE FROM leasehold.manual_clock;

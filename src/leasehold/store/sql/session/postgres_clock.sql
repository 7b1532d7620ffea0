-- postgres_clock: Put a clock that is set by hand in place of the server's, for tests (PostgreSQL only).
CREATE TABLE IF NOT EXISTS leasehold.hand_clock (now bigint NOT NULL);

CREATE OR REPLACE FUNCTION leasehold.leasehold_now() RETURNS bigint LANGUAGE sql STABLE PARALLEL SAFE
AS $$ SELECT now FROM leasehold.hand_clock $$;

DELETE FROM leasehold.hand_clock;

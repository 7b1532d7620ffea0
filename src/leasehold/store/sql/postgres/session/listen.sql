-- listen: Receive wake-ups that are sent to all, and those for this listener.
DO $$
BEGIN
    LISTEN leasehold;
    EXECUTE format('LISTEN leasehold_%s', pg_backend_pid());
END $$

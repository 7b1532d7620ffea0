-- show: Show what a listener is for; not behind a pooler, where the session is shared and its number is another one.
SELECT set_config('application_name', 'leasehold-' || %(label)s, false) WHERE pg_backend_pid() = %(pid)s::integer

-- notify_all: Send a wake-up to all listeners, without waiting for the disk; behind a pooler the setting must not stay.
SELECT set_config('synchronous_commit', 'off', true), pg_notify('leasehold', %(hint)s)

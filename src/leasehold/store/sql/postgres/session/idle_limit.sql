-- idle_limit: End this transaction if its process falls silent for so many milliseconds, or is gone, so that nobody waits for it for ever.
SELECT set_config('idle_in_transaction_session_timeout', %(limit)s::text, true) AS silence,
    set_config('client_connection_check_interval', '1000', true) AS presence

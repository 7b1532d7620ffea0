-- idle_limit: End this transaction if its process is idle or gone for so many milliseconds, so nobody waits for it.
SELECT set_config('idle_in_transaction_session_timeout', %(limit)s::text, true) AS silence,
    set_config('client_connection_check_interval', '1000', true) AS presence

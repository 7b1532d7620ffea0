-- idle_limit: End this transaction if its process falls silent for so many milliseconds, so that nobody waits for it for ever.
SELECT set_config('idle_in_transaction_session_timeout', %(limit)s::text, true) AS setting

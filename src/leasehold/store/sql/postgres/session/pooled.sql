-- pooled: What a transaction of ours needs where nothing may be set for longer.
SET LOCAL idle_in_transaction_session_timeout = '2s'

-- lock: Keep others from writing rows until this transaction has ended; on SQLite the transaction does so itself.
SELECT 1

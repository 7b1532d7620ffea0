-- snapshot: Have every read of this transaction see one moment.
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY

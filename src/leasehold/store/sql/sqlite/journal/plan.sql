-- plan: Let this transaction use the journal's block index, which only a bitmap can, and which a claim never needs.
-- Differs from PostgreSQL: here the journal is stored in the order of its numbers.
SELECT 'on' AS setting

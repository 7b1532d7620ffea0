-- plan: Let this transaction use the journal's block index, which only a bitmap can, and which a claim never needs.
SELECT set_config('enable_bitmapscan', 'on', true) AS setting

-- alone: Keep others from writing rows until this transaction has ended; whoever has begun to write does that here.
SELECT 1

-- 0009_convicted: Find the tasks that were convicted of killing their workers.
CREATE INDEX dead_letter_crashed ON dead_letter (id) WHERE error_class = 'WORKER_CRASHED';

-- copy_event: Write down that new jobs were submitted.
COPY leasehold.event (task_id, at, name, mark) FROM STDIN

-- copy_ready: Make new jobs ready.
COPY leasehold.ready (task_id, queue, priority, route, attempt, fence, epoch, mark) FROM STDIN

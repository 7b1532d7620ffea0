-- ready: Count what is ready by queue and route, branches with their queue, with the first job of each.
WITH counted AS MATERIALIZED (
    SELECT substr(ready.queue, 1, instr(ready.queue || '/', '/') - 1) AS queue, ltrim(ready.route, '!') AS route,
        count(*) AS tasks, min(ready.task_id) AS task_id
    FROM main.ready GROUP BY 1, 2
)
SELECT counted.queue, counted.route, counted.tasks, task.job_id
FROM counted JOIN main.task ON task.id = counted.task_id ORDER BY counted.queue, counted.route LIMIT :most

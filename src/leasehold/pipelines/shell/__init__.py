"""What every pipeline needs around its own work: options, a database, worker processes, progress and reports.

A new pipeline, `leasehold video`, is a group (`GroupWithDefault.of("run")`, `@url_option`) whose command would do:

    spec = WorkerSpec(worker_arguments("leasehold.pipelines.video", 4), environment, log)
    with stop_on_signals() as stop, forked_processes(2) as forked, live_display(make_renderer) as show:
        with WorkerProcesses(spec, 2, stop, forked) as workers:
            last = run_until_over(read(), read, workers, RunObserver(show, stop))
    click.echo(counts_text(last.counts))
"""

"""What every pipeline needs around its own work: options, a database, worker processes, progress and reports.

The command of a new pipeline, `leasehold video DOCUMENT`, would use it so:

    @click.group(cls=GroupWithDefault.of("run"), help=help_with_examples("Make a video.", [...]))
    @url_option
    def video(url: str) -> None: ...

    spec = WorkerSpec(worker_arguments("leasehold.pipelines.video", 4), environment, log)
    with stop_on_signals() as stop, WorkerProcesses(spec, 2, stop) as workers, live_display(make_renderer) as show:
        last = run_until_over(read(), read, workers, RunObserver(show, stop))
    click.echo(counts_text(last.counts))
"""

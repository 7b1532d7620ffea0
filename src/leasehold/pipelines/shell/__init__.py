"""What every pipeline needs around its own work; here in the command of a new one, `leasehold video DOCUMENT`.

    @click.group(cls=GroupWithDefault.of("run"), help=help_with_examples("Make a video.", [...]))     # options
    @url_option
    def video(url: str) -> None: ...

    spec = WorkerSpec(worker_arguments("leasehold.pipelines.video", 4), environment, log)   # leasehold.processes
    with stop_on_signals() as stop, WorkerProcesses(spec, 2, stop) as workers, live_display(make_renderer) as show:
        last = run_until_over(read(), read, workers, RunObserver(show, stop))              # run_loop, progress
    click.echo(counts_text(last.counts))                                                   # text; reports: html

`locate` finds the database that the jobs of a folder are in.
"""

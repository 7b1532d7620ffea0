"""`leasehold agents stop-gate`: execute the locked fixtures again, and find out whether they leave what they left."""

from __future__ import annotations

from pathlib import Path

import click

from leasehold.canonical import encode
from leasehold.pipelines.agents.errors import StopGateInputInvalid
from leasehold.pipelines.shell.options import help_with_examples
from leasehold.pipelines.shell.text import printable

FILE = click.Path(dir_okay=False, path_type=Path)


@click.command(
    "stop-gate",
    help=help_with_examples(
        "Execute locked fixtures of dispatch, recovery, budgets and cancels, and compare what they leave with their"
        " manifest.\n\nEach is executed three times, in fresh processes with other hash seeds, time zones and locales,"
        " on databases made for it; no session of yours is read. It needs pip install 'leasehold[agents]'.\n\nExit"
        " codes: 0 every metric is 100.0, 1 one is not or the manifest is not the one that its hash declares, 2 wrong"
        " input.",
        [
            "leasehold agents stop-gate",
            "leasehold agents stop-gate --out-json stop-gate.json --out-md stop-gate.md",
            "leasehold agents stop-gate --manifest fixtures/vnext_plus9_manifest.json",
        ],
    ),
)
@click.option("--manifest", type=FILE, metavar="FILE", help="The manifest. Default: that of the package.")
@click.option("--out-json", type=FILE, metavar="FILE", help="Write stop_gate_metrics@1 to this file.")
@click.option("--out-md", type=FILE, metavar="FILE", help="Write the report as Markdown.")
@click.pass_context
def stop_gate(context: click.Context, manifest: Path | None, out_json: Path | None, out_md: Path | None) -> None:
    from leasehold.pipelines.agents.stop_gate import report
    from leasehold.pipelines.agents.stop_gate.gate import run_gate
    from leasehold.pipelines.agents.stop_gate.manifest import read_manifest

    for path in (out_json, out_md):
        if path is not None and not path.parent.is_dir():
            raise StopGateInputInvalid(f"{path} cannot be written: there is no such folder.", file=str(path))
    gate = run_gate(read_manifest(manifest))
    if out_json is not None:
        _write(out_json, f"{encode(report.metrics_report(gate))}\n")
    if out_md is not None:
        _write(out_md, report.markdown_report(gate))
    for line in report.summary_lines(gate):
        click.echo(printable(line))
    context.exit(0 if gate.has_passed else 1)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise StopGateInputInvalid(f"{path} cannot be written: {error.strerror}.", file=str(path)) from None

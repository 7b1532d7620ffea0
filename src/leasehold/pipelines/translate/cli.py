"""`leasehold translate`: translate a document paragraph by paragraph, and commands about the run.

What reads documents is imported by the commands that need it: help is there without the extra `leasehold[translate]`.
"""

from __future__ import annotations

import getpass
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from leasehold.errors import Misuse
from leasehold.pipelines.shell.options import (
    CONTEXT,
    SIGNALLED,
    GroupWithDefault,
    folder_command,
    help_with_examples,
    url_option,
    workers_option,
)
from leasehold.pipelines.shell.run_loop import RunObserver, live_display
from leasehold.pipelines.shell.text import counts_text
from leasehold.pipelines.translate.gate import Thresholds
from leasehold.pipelines.translate.settings import ATTEMPTS_MAX, TranslateOptions
from leasehold.processes import forked_processes, stop_on_signals
from leasehold.runlock import RunLockError

if TYPE_CHECKING:
    from leasehold.pipelines.translate.api import Order
    from leasehold.pipelines.translate.reports.progress import TranslateRenderer
    from leasehold.pipelines.translate.run_loop import WorkerOptions

STYLE_BYTES_MAX: Final = 100_000


@contextmanager
def lock_exit_codes(context: click.Context) -> Iterator[None]:
    try:
        yield
    except RunLockError as error:
        click.echo(str(error), err=True)
        context.exit(error.exit_code)


@click.group(
    cls=GroupWithDefault.of("run", extra="translate"),
    help=help_with_examples(
        "Translate a document paragraph by paragraph.\n\nEach paragraph is translated, reviewed, reworked where weak,"
        " and approved or rejected; paragraphs that remain weak wait for a person. Nothing is translated twice.",
        [
            "leasehold translate chapter.md --from en --to es   translate; run again to resume, or after an edit",
            "leasehold translate status runs/chapter-en-es      show how far it is, and what waits for you",
            "leasehold translate approve runs/chapter-en-es 17  approve the candidate of paragraph 17 as it is",
            "leasehold translate pairs                          list what can be translated offline here",
        ],
    ),
    context_settings=CONTEXT,
)
@url_option
def translate(url: str) -> None:
    """Translate a document paragraph by paragraph."""


_command = partial(folder_command, translate, "RUN")  # about an existing run


def _thresholds(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> Thresholds:
    found: dict[str, float] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or name not in Thresholds.__slots__:
            names = ", ".join(Thresholds.__slots__)
            raise click.BadParameter(f"write NAME=0.7 with one of {names}; got {text[:80]!r}")
        try:
            found[name] = float(value)
        except ValueError:
            raise click.BadParameter(f"{value[:80]!r} is not a number") from None
    return Thresholds(**found)


def _glossary(_: click.Context, __: click.Parameter, path: Path | None) -> dict[str, str]:
    from leasehold.pipelines.translate.translators.glossaries import read_glossary

    return read_glossary(path) if path else {}


def _style(_: click.Context, __: click.Parameter, path: Path | None) -> str:
    if path is None:
        return ""
    try:
        if not path.is_file() or path.stat().st_size > STYLE_BYTES_MAX:
            raise Misuse(f"--style {path}: style notes must be a text file of at most {STYLE_BYTES_MAX:,} bytes.")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Misuse(f"--style {path} cannot be read as UTF-8 text: {error}.") from None


@translate.command(
    help=help_with_examples(
        "Translate DOCUMENT (Markdown, plain text, DOCX or PO) into a folder below --out.\n\nThe word `run` may be left"
        " out. Ctrl-C stops cleanly; run the same command again to resume. Keys of endpoints come only from the"
        " environment: OPENAI_API_KEY, ANTHROPIC_API_KEY or LEASEHOLD_TRANSLATE_KEY.\n\nExit codes: 0 every paragraph"
        " is approved, 1 some are not, 2 wrong input or the run is active elsewhere, 3 the lock is not valid or was"
        " lost, or a database or disk cannot be used, 4 the lock cannot be written, 128+n stopped by signal n.",
        [
            "leasehold translate run chapter.md --from en --to es --out runs",
            "leasehold translate app.po --from en --to de --translator openai:gpt-4.1-mini --glossary terms.csv",
            "leasehold translate chapter.md --from en --to es --rework-only --max-attempts 6",
        ],
    )
)
@click.argument("document", type=click.Path(path_type=Path))
@click.option(
    "--from", "source_language", required=True, metavar="LANGUAGE", help="Language of the document: en, pt-BR, …"
)
@click.option("--to", "target_language", required=True, metavar="LANGUAGE", help="Language to translate into.")
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), default=Path("runs"), show_default=True, metavar="DIR",
    help="The folder of all runs; each gets a folder in it.",
)  # fmt: skip
@click.option("--run-id", default="", metavar="ID", help="Name of the run. Default: document and languages.")
@click.option(
    "--translator", default="apertium", show_default=True, metavar="NAME",
    help="apertium, openai:MODEL[@BASE], anthropic:MODEL[@BASE] or dictionary:FILE.",
)  # fmt: skip
@click.option(
    "--back-translator", default="apertium", show_default=True, metavar="NAME",
    help="Translates candidates back, to compare; '' for none. Not used if it lacks the language pair.",
)  # fmt: skip
@click.option("--reviewer", default="", metavar="NAME", help="A model as additional reviewer: openai:… or anthropic:…")
@click.option(
    "--glossary", type=click.Path(path_type=Path), metavar="FILE", callback=_glossary,
    help="Terms: CSV, TSV or a JSON object.",
)  # fmt: skip
@click.option(
    "--style", type=click.Path(path_type=Path), metavar="FILE", callback=_style,
    help="Style notes for models, a text file.",
)  # fmt: skip
@click.option(
    "--max-attempts", "attempts_max", type=click.IntRange(2, 10), default=ATTEMPTS_MAX, show_default=True,
    help="Attempts per paragraph.",
)  # fmt: skip
@click.option(
    "--threshold", "thresholds", multiple=True, metavar="NAME=N", callback=_thresholds,
    help="Minimum of a score, 0 to 1: adequacy, fluency, terminology, style, composite. Repeatable.",
)  # fmt: skip
@click.option("--rework-only", is_flag=True, help="Only rework paragraphs that wait for a person.")
@click.option("--unattended", "is_unattended", is_flag=True, help="Reject paragraphs that would wait for a person.")
@click.option("--redact", is_flag=True, help="Redact whatever looks like a secret before text is sent to a model.")
@workers_option(1)
@click.option(
    "--parallel", type=click.IntRange(1, 256), default=4, show_default=True, help="Paragraphs at once per worker."
)
@url_option
@click.pass_context
def run(context: click.Context, /, **given: Any) -> None:
    from leasehold.pipelines.translate.api import Order
    from leasehold.pipelines.translate.run_loop import WorkerOptions

    options = TranslateOptions(**{name: given[name] for name in TranslateOptions.__struct_fields__})
    names = ("document", "source_language", "target_language", "out", "run_id", "url")
    order = Order(**{name: given[name] for name in names}, options=options)
    workers = WorkerOptions(given["workers"], given["parallel"], given["rework_only"])
    with lock_exit_codes(context):
        context.exit(_carry_out(order, workers))


def _carry_out(order: Order, workers: WorkerOptions) -> int:
    """Translate, print the result, and return the exit code."""
    from leasehold.pipelines.translate.api import REPORT
    from leasehold.pipelines.translate.api import translate as carry_out
    from leasehold.pipelines.translate.reports.report import result_lines

    with stop_on_signals() as stop, forked_processes(workers.processes) as forked, live_display(_renderer) as show:
        result = carry_out(order, workers, RunObserver(show, stop), forked)
    if stop.number is not None and not result.snapshot.is_over:
        click.echo(f"Stopped: {counts_text(result.counts)}. Run the same command again to resume.")
        return SIGNALLED + stop.number
    click.echo("\n".join(result_lines(result.planned, result.folder, result.histories)))
    click.echo(f"report  {result.folder / REPORT}")
    return 0 if result.is_well else 1


def _renderer() -> TranslateRenderer:
    from leasehold.pipelines.translate.reports.progress import TranslateRenderer

    return TranslateRenderer()


@_command("status", "status runs/chapter-en-es", "status runs/chapter-en-es --json")
@click.option("--json", "as_json", is_flag=True, help="Every paragraph with its state, for programs.")
def status(folder: Path, url: str, *, as_json: bool) -> None:
    """Show how far a run is, and what waits for a person."""
    from leasehold.pipelines.translate.api import status as read_status
    from leasehold.pipelines.translate.reports.report import status_lines

    found = read_status(folder, url=url)
    if as_json:
        names = ("paragraph", "state", "tries", "failure")
        values = ((each.paragraph.index, each.state, len(each.tries), each.failure) for each in found)
        rows = [dict(zip(names, row, strict=True)) for row in values]
        click.echo(json.dumps(rows, ensure_ascii=False, indent=2))
        return
    for line in status_lines(folder, found):
        click.echo(line)


@_command(
    "approve",
    "approve runs/chapter-en-es 17 23",
    "approve runs/chapter-en-es 17 --text 'No llegó a tiempo.' --note 'negation was lost'",
    "approve runs/chapter-en-es --all",
)
@click.argument("paragraphs", metavar="[PARAGRAPH]...", nargs=-1, type=click.IntRange(1))
@click.option("--all", "everything", is_flag=True, help="Every paragraph that waits.")
@click.option("--text", default="", help="Your own translation, in the document's markup. For one paragraph.")
@click.option("--note", default="", help="Why; kept with the decision.")
@click.option("--by", default="", metavar="NAME", help="Who decides. Default: the current user.")
@click.pass_context
def approve(context: click.Context, /, **given: Any) -> None:
    """Approve paragraphs that wait: their best candidate, or your own text."""
    _decide(context, "approve", given)


@_command("reject", "reject runs/chapter-en-es 17 --note 'a poem; leave it'")
@click.argument("paragraphs", metavar="[PARAGRAPH]...", nargs=-1, type=click.IntRange(1))
@click.option("--all", "everything", is_flag=True, help="Every paragraph that waits.")
@click.option("--note", required=True, help="Why; kept with the decision.")
@click.option("--by", default="", metavar="NAME", help="Who decides. Default: the current user.")
@click.pass_context
def reject(context: click.Context, /, **given: Any) -> None:
    """Reject paragraphs that wait: the translation keeps their source text."""
    _decide(context, "reject", given)


def _decide(context: click.Context, kind: str, given: dict[str, Any]) -> None:
    from leasehold.pipelines.translate.api import open_locked
    from leasehold.pipelines.translate.history import histories
    from leasehold.pipelines.translate.paragraphs import Decision, DecisionKind
    from leasehold.pipelines.translate.planning import check_decision, decide

    text, note = given.get("text", ""), given["note"]
    if bool(given["paragraphs"]) == given["everything"]:
        raise click.UsageError("Pass the numbers of paragraphs, or --all.")
    if text and len(given["paragraphs"]) != 1:
        raise click.UsageError("--text is for one paragraph.")
    decision = check_decision(Decision(DecisionKind(kind), given["by"] or _user(), note, text))
    with lock_exit_codes(context), open_locked(given["folder"], given["url"]) as (toolchain, document):
        waiting = (each.paragraph.index for each in histories(toolchain, document) if each.is_waiting)
        if not (chosen := given["paragraphs"] or list(waiting)):
            click.echo("Nothing waits.")
        for history in decide(toolchain, document, chosen, decision):
            click.echo(f"{history.paragraph.index:>6}  {decision.state}")


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # this user has no name
        return f"user {os.getuid()}"


@_command("project", "project runs/chapter-en-es")
@click.pass_context
def project(context: click.Context, /, folder: Path, url: str) -> None:
    """Rewrite the files of a run from its database: rows, manifest, document, report."""
    from leasehold.pipelines.translate.api import open_locked

    with lock_exit_codes(context), open_locked(folder, url) as (_, document):
        click.echo(f"{len(document.paragraphs):,} paragraphs: {folder}")


@translate.command(
    help=help_with_examples(
        "List the language pairs that can be translated offline on this machine.", ["leasehold translate pairs"]
    )
)
@url_option
def pairs(url: str) -> None:  # noqa: ARG001 — every command takes one
    from leasehold.pipelines.translate.translators.apertium.modes import installed_modes

    for mode in installed_modes():
        click.echo(f"{mode.source} {mode.target}")

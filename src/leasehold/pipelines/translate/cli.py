"""`leasehold translate`: a document in, its translation out, every paragraph accounted for; and what follows."""

from __future__ import annotations

import getpass
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import click

from leasehold.errors import Misuse
from leasehold.pipelines.crew import stop_on_signals
from leasehold.pipelines.translate import states
from leasehold.pipelines.translate.api import REPORT, Order, Result, existing, held
from leasehold.pipelines.translate.api import translate as carry_out
from leasehold.pipelines.translate.decisions import check_decision, decide, waiting
from leasehold.pipelines.translate.gate import Thresholds
from leasehold.pipelines.translate.glossaries import read_glossary
from leasehold.pipelines.translate.history import histories
from leasehold.pipelines.translate.paragraphs import Decision, DecisionKind
from leasehold.pipelines.translate.reports.text import counted, help_with_examples, told_result, told_run
from leasehold.pipelines.translate.run_loop import Crew, RunObserver
from leasehold.pipelines.translate.settings import ATTEMPTS_MAX, TranslateOptions
from leasehold.runlock import RunLockError

RUN: Final = click.Path(exists=True, file_okay=False, path_type=Path)
URL_KEY: Final = "leasehold.url"  # where the command keeps the address that it was given
SIGNALLED: Final = 128
STYLE_BYTES_MAX: Final = 100_000


def url_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a verb be about a run whose jobs lie in a database elsewhere."""

    def take(context: click.Context, _: click.Parameter, value: str) -> str:
        """Take the verb's own address or that of `leasehold --url`, so that errors leave out what is secret in it."""
        if value:
            context.meta[URL_KEY] = value
        return context.meta.get(URL_KEY) or ""

    return click.option(
        "--url",
        default="",
        metavar="URL",
        callback=take,
        help="The database, if it is not in the run's folder: postgresql://…  Others can read a command line: keep"
        " passwords in LEASEHOLD_URL, which is used where the run was made with a database elsewhere.",
    )(function)


@contextmanager
def lock_told(context: click.Context) -> Iterator[None]:
    """End with the exit codes of the run lock's runbook."""
    try:
        yield
    except RunLockError as error:
        click.echo(str(error), err=True)
        context.exit(error.exit_code)


class Translate(click.Group):
    """A group whose first word may also be a document."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Take a first word that is no verb for a document; the address of the database may stand before it."""
        start = 2 if args[:1] == ["--url"] else 1 if args and args[0].startswith("--url=") else 0
        if len(args) > start and args[start] not in self.commands and args[start] not in ("-h", "--help"):
            args = [*args[:start], "run", *args[start:]]
        return super().parse_args(context, args)


@click.group(
    cls=Translate,
    help=help_with_examples(
        "Translate a document paragraph by paragraph.\n\nEach paragraph is translated, reviewed, reworked where weak,"
        " and approved or rejected; what nothing helps waits for a person. Nothing is translated twice.",
        [
            "leasehold translate chapter.md --from en --to es   translate; again: go on, or only what has changed",
            "leasehold translate status runs/chapter-en-es      how far it is, and what waits for you",
            "leasehold translate approve runs/chapter-en-es 17  take the candidate of paragraph 17 as it is",
            "leasehold translate pairs                          what can be translated offline on this machine",
        ],
    ),
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@url_option
def translate(url: str) -> None:
    """Translate a document paragraph by paragraph."""


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
            raise click.BadParameter(f"{value[:80]!r} is no number") from None
    return Thresholds(**found)


@translate.command(
    help=help_with_examples(
        "Translate DOCUMENT (Markdown, plain text, DOCX or PO) into a folder below --out.\n\nThe word `run` may be left"
        " out. Ctrl-C stops cleanly; the same command goes on where it was. Keys of endpoints come from the environment"
        " alone: OPENAI_API_KEY, ANTHROPIC_API_KEY or LEASEHOLD_TRANSLATE_KEY.\n\nExit codes: 0 every paragraph is"
        " approved, 1 some are not, 2 wrong input or the run is active elsewhere, 3 the lock is not valid or was lost,"
        " or a database or a disk cannot be used, 4 the lock cannot be written, 128+n stopped by signal n.",
        [
            "leasehold translate run chapter.md --from en --to es --out runs",
            "leasehold translate app.po --from en --to de --translator openai:gpt-4.1-mini --glossary terms.csv",
            "leasehold translate chapter.md --from en --to es --rework-only --max-attempts 6",
        ],
    )
)
@click.argument("document", type=click.Path(path_type=Path))
@click.option("--from", "source_language", required=True, metavar="LANGUAGE", help="What it is in: en, pt-BR, …")
@click.option("--to", "target_language", required=True, metavar="LANGUAGE", help="What it is to be written in.")
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), default=Path("runs"), show_default=True, metavar="DIR",
    help="Where runs lie, each in a folder of its own.",
)  # fmt: skip
@click.option("--run-id", default="", metavar="ID", help="The run's name. Default: made of document and languages.")
@click.option(
    "--translator", default="apertium", show_default=True, metavar="NAME",
    help="apertium, openai:MODEL[@BASE], anthropic:MODEL[@BASE] or dictionary:FILE.",
)  # fmt: skip
@click.option(
    "--back-translator", default="apertium", show_default=True, metavar="NAME",
    help="What translates candidates back, to compare; an empty text: nobody. Left out where it lacks the pair.",
)  # fmt: skip
@click.option("--reviewer", default="", metavar="NAME", help="A model that reviews too: openai:… or anthropic:…")
@click.option("--glossary", type=click.Path(path_type=Path), metavar="FILE", help="Terms: CSV, TSV or a JSON object.")
@click.option("--style", type=click.Path(path_type=Path), metavar="FILE", help="Notes on style, for models.")
@click.option(
    "--max-attempts", type=click.IntRange(2, 10), default=ATTEMPTS_MAX, show_default=True, help="Tries of a paragraph."
)
@click.option(
    "--threshold", "thresholds", multiple=True, metavar="NAME=N", callback=_thresholds,
    help="The least a score must reach, 0 to 1: adequacy, fluency, terminology, style, composite. Repeatable.",
)  # fmt: skip
@click.option("--rework-only", is_flag=True, help="Another round for what waits for a person, and nothing else.")
@click.option("--unattended", is_flag=True, help="Reject what would wait for a person.")
@click.option("--redact", is_flag=True, help="Send models no secrets: what looks like one is blacked out before.")
@click.option("--workers", type=click.IntRange(1, 64), default=1, show_default=True, help="Worker processes.")
@click.option(
    "--parallel", type=click.IntRange(1, 256), default=4, show_default=True, help="Paragraphs at once in each of them."
)
@url_option
@click.pass_context
def run(context: click.Context, /, **given: Any) -> None:
    """Translate DOCUMENT."""
    options = TranslateOptions(
        translator=given["translator"],
        back_translator=given["back_translator"],
        reviewer=given["reviewer"],
        glossary=read_glossary(given["glossary"]) if given["glossary"] else {},
        style=_style(given["style"]),
        attempts_max=given["max_attempts"],
        thresholds=given["thresholds"],
        is_unattended=given["unattended"],
        redact=given["redact"],
    )
    planned_paragraphs = (given["document"], given["source_language"], given["target_language"], given["out"])
    order = Order(*planned_paragraphs, given["run_id"], given["url"], options)
    crew = Crew(given["workers"], given["parallel"], given["rework_only"])
    with lock_told(context):
        context.exit(_carried_out(order, crew))


def _style(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        if not path.is_file() or path.stat().st_size > STYLE_BYTES_MAX:
            raise Misuse(f"--style {path}: notes on style are a text file of at most {STYLE_BYTES_MAX:,} bytes.")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Misuse(f"--style {path} cannot be read as UTF-8 text: {error}.") from None


def _carried_out(order: Order, crew: Crew) -> int:
    from leasehold.pipelines.translate.reports.progress import Screen

    with stop_on_signals() as wish, Screen() as screen:
        result = carry_out(order, crew, RunObserver(screen.show, wish))
    if wish.number is not None and not result.sight.is_over:
        click.echo(f"Stopped: {counted(result.counts)}. The same command goes on where it was.")
        return SIGNALLED + wish.number
    _tell(result)
    return 0 if result.is_well else 1


def _tell(result: Result) -> None:
    for line in told_result(result):
        click.echo(line)
    click.echo(f"report  {result.folder / REPORT}")


@translate.command(
    help=help_with_examples(
        "Show how far a run is, and what waits for a person.",
        ["leasehold translate status runs/chapter-en-es", "leasehold translate status runs/chapter-en-es --json"],
    )
)
@click.argument("folder", metavar="RUN", type=RUN)
@click.option("--json", "as_json", is_flag=True, help="Every paragraph with its state, for programs.")
@url_option
def status(folder: Path, url: str, *, as_json: bool) -> None:
    """Show how far a run is."""
    with existing(folder, url) as (toolchain, document):
        told = list(histories(toolchain, document))
    if as_json:
        rows = [
            {"paragraph": one.paragraph.index, "state": one.state, "tries": len(one.tries), "failure": one.failure}
            for one in told
        ]
        click.echo(json.dumps(rows, ensure_ascii=False, indent=2))
        return
    for line in told_run(folder, told):
        click.echo(line)


@translate.command(
    help=help_with_examples(
        "Approve paragraphs that wait: their best candidate, or a text of yours.",
        [
            "leasehold translate approve runs/chapter-en-es 17 23",
            "leasehold translate approve runs/chapter-en-es 17 --text 'No llegó a tiempo.' --note 'negation was lost'",
            "leasehold translate approve runs/chapter-en-es --all",
        ],
    )
)
@click.argument("folder", metavar="RUN", type=RUN)
@click.argument("paragraphs", metavar="[PARAGRAPH]...", nargs=-1, type=click.IntRange(1))
@click.option("--all", "everything", is_flag=True, help="Every paragraph that waits.")
@click.option("--text", default="", help="What to write instead, in the document's own markup. For one paragraph.")
@click.option("--note", default="", help="Why; kept with the decision.")
@click.option("--by", default="", metavar="NAME", help="Who decides. Default: who runs the command.")
@url_option
@click.pass_context
def approve(context: click.Context, /, **given: Any) -> None:
    """Approve paragraphs that wait."""
    _decide(context, DecisionKind.APPROVE, given)


@translate.command(
    help=help_with_examples(
        "Reject paragraphs that wait: the translation keeps their source text.",
        ["leasehold translate reject runs/chapter-en-es 17 --note 'a poem; leave it'"],
    )
)
@click.argument("folder", metavar="RUN", type=RUN)
@click.argument("paragraphs", metavar="[PARAGRAPH]...", nargs=-1, type=click.IntRange(1))
@click.option("--all", "everything", is_flag=True, help="Every paragraph that waits.")
@click.option("--note", required=True, help="Why; kept with the decision.")
@click.option("--by", default="", metavar="NAME", help="Who decides. Default: who runs the command.")
@url_option
@click.pass_context
def reject(context: click.Context, /, **given: Any) -> None:
    """Reject paragraphs that wait."""
    _decide(context, DecisionKind.REJECT, given)


def _decide(context: click.Context, kind: DecisionKind, given: dict[str, Any]) -> None:
    text, note = given.get("text", ""), given["note"]
    if bool(given["paragraphs"]) == given["everything"]:
        raise click.UsageError("Name paragraphs by their numbers, or pass --all.")
    if text and len(given["paragraphs"]) != 1:
        raise click.UsageError("--text is for one paragraph.")
    asked = check_decision(Decision(kind, given["by"] or _user(), note, text))
    with lock_told(context), held(given["folder"], given["url"]) as (toolchain, document):
        chosen = given["paragraphs"] or [one.paragraph.index for one in waiting(toolchain, document)]
        if not chosen:
            click.echo("Nothing waits.")
        for told in decide(toolchain, document, chosen, asked):
            click.echo(
                f"{told.paragraph.index:>6}  {states.APPROVED if kind is DecisionKind.APPROVE else states.REJECTED}"
            )


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # nobody has given this user a name
        return f"user {os.getuid()}"


@translate.command(
    help=help_with_examples(
        "Make the files of a run anew from its database: rows, manifest, document, report.",
        ["leasehold translate project runs/chapter-en-es"],
    )
)
@click.argument("folder", metavar="RUN", type=RUN)
@url_option
@click.pass_context
def project(context: click.Context, /, folder: Path, url: str) -> None:
    """Make the files of a run anew."""
    with lock_told(context), held(folder, url) as (_, document):
        click.echo(f"{len(document.paragraphs):,} paragraphs: {folder}")


@translate.command(
    help=help_with_examples("List what can be translated offline on this machine.", ["leasehold translate pairs"])
)
@url_option
def pairs(url: str) -> None:  # noqa: ARG001 — every verb takes one
    """List language pairs."""
    from leasehold.pipelines.translate.translators.apertium.modes import installed_modes

    for mode in installed_modes():
        click.echo(f"{mode.source} {mode.target}")

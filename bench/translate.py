"""Measure what durability and reviews cost a translation: `python -m bench.translate`.

The same chapter goes through Apertium, kept running, in four ways: asked in a loop; the same with every review and
rework but without the engine; and as `leasehold translate` does it, with one paragraph at a time and with four. Rounds
alternate between them, so that whatever else the machine does falls on all. Two rates of the engine's runs are given:
from the first paragraph's end to the last one's, and of the whole command, whose processes start and whose files are
written.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from bench.report import Report
from leasehold import Task
from leasehold.pipelines.translate.api import Result, run
from leasehold.pipelines.translate.documents import read_document
from leasehold.pipelines.translate.documents.document import Document
from leasehold.pipelines.translate.documents.protecting import protect
from leasehold.pipelines.translate.handler import ParagraphWork, TranslationTools
from leasehold.pipelines.translate.paragraphs import ParagraphInput
from leasehold.pipelines.translate.run_loop import WorkerOptions
from leasehold.pipelines.translate.settings import RunIdentity, RunSettings, TranslateOptions
from leasehold.pipelines.translate.states import ENDS
from leasehold.pipelines.translate.toolchain import make_tools
from leasehold.pipelines.translate.translators.answer_log import AnswerLog
from leasehold.pipelines.translate.translators.apertium.engine import Apertium
from leasehold.pipelines.translate.translators.translator import TranslationRequest

CHAPTER = Path("tests/pipelines/translate/chapter/chapter.md")
QUICK_LINES = 150
ROUNDS, QUICK_ROUNDS = 3, 1
LANGUAGES = ("en", "es")
UNATTENDED = TranslateOptions(is_unattended=True)

Rates = dict[str, list[float]]


class Forgetful(AnswerLog):
    """Asks, and puts nothing down."""

    def keep(self, key: str, ask: Callable[[], dict[str, Any]]) -> dict[str, Any]:  # noqa: ARG002 - nothing is kept
        """Ask."""
        return ask()


class AnonymousFile:
    """What a task is to a paragraph's work, without an engine behind it."""

    def effect(self, kind: str, act: Callable[..., Any], **_: object) -> Any:
        """Do it."""
        return act("") if kind == "TRANSLATE" else act()

    def advance(self, state: str) -> None:
        """Go on."""


def bare(document: Document) -> float:
    """Paragraphs a second of Apertium alone."""
    with closing(Apertium()) as apertium:
        texts = [protect(paragraph.source, document.format).text for paragraph in document.paragraphs]
        apertium.translate(TranslationRequest(texts[0], *LANGUAGES))
        began = time.perf_counter()
        for text in texts:
            apertium.translate(TranslationRequest(text, *LANGUAGES))
        return len(texts) / (time.perf_counter() - began)


def reviewed(document: Document, folder: Path) -> float:
    """Paragraphs a second with reviews and reworks, one after the other, nothing kept."""
    wanted = [
        ParagraphInput("bench", document.name, paragraph.source, document.format, *LANGUAGES)
        for paragraph in document.paragraphs
    ]
    with _tools(document, folder) as tools:
        _worked(wanted[0], tools)
        began = time.perf_counter()
        for one in wanted:
            _worked(one, tools)
        return len(wanted) / (time.perf_counter() - began)


@contextmanager
def _tools(document: Document, folder: Path) -> Iterator[TranslationTools]:
    identity = RunIdentity("bench", document.name, document.format, *LANGUAGES, "")
    made = make_tools(RunSettings(folder, identity, UNATTENDED))
    with closing(made):
        yield replace(made, answers=Forgetful(folder / "none"))


def _worked(wanted: ParagraphInput, tools: TranslationTools) -> None:
    work = ParagraphWork(cast("Task", AnonymousFile()), wanted, tools)
    work.first_pass()
    work.second_pass()


@dataclass(frozen=True, slots=True)
class Ran:
    """Rates of one run of the engine: while paragraphs ended, and of the whole."""

    steady: float
    whole: float


def engine(source: Path, folder: Path, parallel: int) -> Ran:
    """Paragraphs a second of a run as `leasehold translate` makes it."""
    began = time.perf_counter()
    result = run(source, *LANGUAGES, out=folder, options=UNATTENDED, workers=WorkerOptions(1, parallel))
    seconds = time.perf_counter() - began
    assert set(result.counts) <= set(ENDS), result.counts
    ends = sorted(_ends(result))
    lasted = ends[-1] - ends[0] or seconds  # a short document may end in one write
    return Ran((len(ends) - 1) / lasted, len(ends) / seconds)


def _ends(result: Result) -> Iterator[float]:
    for one in result.histories:
        yield datetime.fromisoformat(one.changes[-1].at).timestamp()


def measure(source: Path, rounds: int, report: Report) -> None:
    """Print the medians of all rounds, and what each way is of Apertium alone."""
    found: Rates = {}
    for number in range(1, rounds + 1):
        with tempfile.TemporaryDirectory(prefix="leasehold-bench-") as place:
            for name, rate in _round(source, Path(place)):
                found.setdefault(name, []).append(rate)
                print(f"  round {number}: {name:<49}{rate:>14,.2f}", flush=True)
    print("\nmedians of the rounds")
    medians = {name: report.note(name, statistics.median(rates), "paragraphs/s") for name, rates in found.items()}
    first, second, *others = medians
    report.note(f"{second}, of {first}", medians[second] / medians[first], "×")
    for name in others:
        report.note(f"{name}, of {second}", medians[name] / medians[second], "×")


def _round(source: Path, place: Path) -> Iterator[tuple[str, float]]:
    document = read_document(source)
    yield "Apertium alone", bare(document)
    yield "with reviews", reviewed(document, place)
    for parallel in (1, 4):
        ran = engine(source, place / str(parallel), parallel)
        yield f"leasehold, {parallel} at once", ran.steady
        yield f"leasehold, {parallel} at once, the whole command", ran.whole


def main() -> int:
    """Print rates and ratios; there is no goal."""
    parser = argparse.ArgumentParser(prog="python -m bench.translate", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the beginning of the chapter, once, to see that it runs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="leasehold-bench-") as place:
        source = Path(place) / CHAPTER.name
        lines = CHAPTER.read_text(encoding="utf-8").splitlines(keepends=True)
        source.write_text("".join(lines[:QUICK_LINES] if options.quick else lines), encoding="utf-8")
        measure(source, QUICK_ROUNDS if options.quick else ROUNDS, Report())
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The pipeline from Python: run, status, project; the same as the command, with the same options."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import Final

from leasehold import Leasehold
from leasehold.pipelines.translate import states
from leasehold.pipelines.translate.documents import Document, read_document
from leasehold.pipelines.translate.export import project as write_files
from leasehold.pipelines.translate.folder import (
    RunFolder,
    RunForeign,
    check_name,
    check_own,
    check_run_id,
    make_run_id,
    sweep,
    write_whole,
    writing,
)
from leasehold.pipelines.translate.history import ParagraphHistory, histories
from leasehold.pipelines.translate.paragraphs import now
from leasehold.pipelines.translate.planning import PlanCounts, plan, rework
from leasehold.pipelines.translate.reports.html import page_of
from leasehold.pipelines.translate.run_loop import Crew, RunObserver, Sight, work
from leasehold.pipelines.translate.settings import (
    HOME,
    RUN,
    RunFile,
    RunIdentity,
    RunMissing,
    RunSettings,
    TranslateOptions,
    address,
    settings_of,
    sort_of,
)
from leasehold.pipelines.translate.toolchain import KIND, Toolchain
from leasehold.pipelines.translate.translators import make_translator
from leasehold.pipelines.translate.translators.factory import make_endpoint
from leasehold.runlock import hold

REPORT: Final = "report.html"


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be translated, from where to where, and under which name."""

    document: Path
    source_language: str
    target_language: str
    out: Path = Path("runs")
    run_id: str = ""
    url: str = ""
    options: TranslateOptions = field(default_factory=TranslateOptions)

    @property
    def name(self) -> str:
        """The run's id: the one that was given, or the one that follows from document and languages."""
        if self.run_id:
            return check_run_id(self.run_id)
        return make_run_id(self.document.name, self.source_language, self.target_language)

    @property
    def folder(self) -> Path:
        """Where the run lies."""
        return self.out / self.name


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a run: paragraphs by state, and the story of each."""

    folder: Path
    planned: PlanCounts
    sight: Sight
    histories: tuple[ParagraphHistory, ...]

    @property
    def counts(self) -> dict[str, int]:
        """Paragraphs by state."""
        return self.sight.counts

    @property
    def is_well(self) -> bool:
        """Whether every paragraph is approved."""
        return self.sight.is_over and self.counts.get(states.APPROVED, 0) == self.planned.total


def run(
    document: str | Path,
    source_language: str,
    target_language: str,
    *,
    out: str | Path = "runs",
    run_id: str = "",
    url: str = "",
    options: TranslateOptions | None = None,
    crew: Crew | None = None,
) -> Result:
    """Translate a document until every paragraph is approved, rejected, or waits for a person.

    The same call again goes on where it was, and translates anew only what has changed.
    """
    order = Order(
        Path(document), source_language, target_language, Path(out), run_id, url, options or TranslateOptions()
    )
    return translate(order, crew or Crew(), RunObserver())


def translate(order: Order, crew: Crew, onlooker: RunObserver) -> Result:
    """Carry out an order. Nothing is written before the document, the languages and the folder are known to be good."""
    document = read_document(order.document)
    check_tools(order)
    memory = check_own(order.folder, document, (order.source_language, order.target_language))
    check_place(order, memory, crew)
    with hold(order.folder, order.name) as held, writing(order.folder):
        settings = _begin(order)
        with closing(Toolchain(settings)) as toolchain:
            _claim(toolchain, is_new=memory is None)
            document = RunFolder(order.folder).document()
            planned = _plan(toolchain, document, crew)
            write_files(toolchain, document)
            sight = work(toolchain, document, crew, RunObserver(onlooker.show, onlooker.wish, held.check))
            held.confirm()
            told = _write(toolchain, document)
    return Result(order.folder, planned, sight, tuple(told))


def check_tools(order: Order) -> None:
    """See that the translator can do what is asked of it, and that there is whoever else is named."""
    options = order.options
    with closing(make_translator(options.translator)) as translator:
        translator.check(order.source_language, order.target_language)
    if options.back_translator:
        make_translator(options.back_translator).close()
    if options.reviewer:
        make_endpoint(options.reviewer)


def check_place(order: Order, memory: RunFile | None, crew: Crew) -> None:
    """See that there is a place for the run: a name, a database that answers, and none there of the same name."""
    check_name(order.document.name)
    if memory is not None:
        return
    if crew.rework_only:
        raise RunMissing(f"There is nothing to rework in {order.folder}.")
    if order.url:
        with closing(Leasehold(order.url)) as app:
            if next(app.machine.jobs(KIND, prefix=f"{order.name}/"), None) is not None:
                raise RunForeign(f"The database has a run {order.name} already, of another folder.")


def _claim(toolchain: Toolchain, *, is_new: bool) -> None:
    """Have the run's name in a shared database; a folder that came second forgets that it wanted it."""
    try:
        toolchain.claim_name()
    except RunForeign:
        if is_new:
            (toolchain.settings.folder / HOME / RUN).unlink()
        raise


def _begin(order: Order) -> RunSettings:
    """Put down what the run is of, under its lock."""
    folder = RunFolder(order.folder)
    content = order.document.read_bytes()
    document = read_document(order.document)
    languages = (order.source_language, order.target_language)
    memory = check_own(order.folder, document, languages)
    if memory is None:
        created = RunIdentity(
            order.name, document.name, document.format, *languages, now(), sort_of(order.url), token_hex(16)
        )
        memory = RunFile(created, order.options)
    url = address(memory.identity, order.url)
    sweep(order.folder)
    folder.make()
    folder.keep_source(document, content)
    folder.remember(RunFile(memory.identity, order.options))
    return RunSettings(order.folder, memory.identity, order.options, url)


def _plan(toolchain: Toolchain, document: Document, crew: Crew) -> PlanCounts:
    if not crew.rework_only:
        return plan(toolchain, document)
    return PlanCounts(len(document.paragraphs), 0, rework(toolchain, document), 0)


def _write(toolchain: Toolchain, document: Document) -> list[ParagraphHistory]:
    told = write_files(toolchain, document)
    page = page_of(toolchain.settings.identity, told)
    write_whole(toolchain.settings.folder / REPORT, page.encode())
    return told


@contextmanager
def existing(folder: Path, url: str = "") -> Iterator[tuple[Toolchain, Document]]:
    """Open a run that is there, to look at it."""
    with closing(Toolchain(settings_of(folder, url))) as toolchain:
        yield toolchain, RunFolder(folder).document()


@contextmanager
def held(folder: Path, url: str = "") -> Iterator[tuple[Toolchain, Document]]:
    """Open a run that is there under its lock, to change it; its files are written anew at the end."""
    settings = settings_of(folder, url)
    with hold(folder, settings.identity.run_id) as lock, writing(folder), closing(Toolchain(settings)) as toolchain:
        document = RunFolder(folder).document()
        yield toolchain, document
        lock.confirm()
        _write(toolchain, document)


def project(folder: str | Path, *, url: str = "") -> None:
    """Make the files of a run anew from its database."""
    with held(Path(folder), url):
        pass


def look(folder: str | Path, *, url: str = "") -> list[ParagraphHistory]:
    """Tell every paragraph of a run."""
    with existing(Path(folder), url) as (toolchain, document):
        return list(histories(toolchain, document))

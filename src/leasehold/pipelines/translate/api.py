"""The pipeline from Python: run, status, project; the same as the command, with the same options."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from typing import Final

from leasehold import Leasehold
from leasehold.pipelines.shell.locate import database_kind
from leasehold.pipelines.shell.run_loop import RunObserver
from leasehold.pipelines.translate import states
from leasehold.pipelines.translate.documents import read_document
from leasehold.pipelines.translate.documents.document import Document
from leasehold.pipelines.translate.export import project as write_files
from leasehold.pipelines.translate.folder import RunFolder, RunForeign, check_name, run_id_of, write_whole, writing
from leasehold.pipelines.translate.history import ParagraphHistory, histories
from leasehold.pipelines.translate.paragraphs import now
from leasehold.pipelines.translate.planning import PlanCounts, plan, rework
from leasehold.pipelines.translate.reports.report import report_page
from leasehold.pipelines.translate.run_loop import RunSnapshot, WorkerOptions, run_workers
from leasehold.pipelines.translate.settings import RunFile, RunIdentity, RunMissing, RunSettings, TranslateOptions
from leasehold.pipelines.translate.toolchain import KIND, Toolchain
from leasehold.pipelines.translate.translators import make_translator
from leasehold.pipelines.translate.translators.endpoints.interfaces import make_endpoint
from leasehold.processes import ForkedProcess
from leasehold.runlock import hold

REPORT: Final = "report.html"


@dataclass(frozen=True, slots=True)
class Order:
    """What to translate, from and to which language, and under which name."""

    document: Path
    source_language: str
    target_language: str
    out: Path = Path("runs")
    run_id: str = ""
    url: str = ""
    options: TranslateOptions = field(default_factory=TranslateOptions)

    @property
    def name(self) -> str:
        return run_id_of(self.run_id, self.document.name, *self.languages)

    @property
    def languages(self) -> tuple[str, str]:
        return self.source_language, self.target_language

    @property
    def folder(self) -> Path:
        return self.out / self.name


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a run: the last snapshot, and the history of each paragraph."""

    folder: Path
    planned: PlanCounts
    snapshot: RunSnapshot
    histories: tuple[ParagraphHistory, ...]

    @property
    def counts(self) -> dict[str, int]:
        """Paragraphs by state."""
        return self.snapshot.counts

    @property
    def is_well(self) -> bool:
        """Whether every paragraph is approved."""
        return self.snapshot.is_over and self.counts.get(states.APPROVED, 0) == self.planned.total


def run(
    document: str | Path,
    source_language: str,
    target_language: str,
    *,
    out: str | Path = "runs",
    run_id: str = "",
    url: str = "",
    options: TranslateOptions | None = None,
    workers: WorkerOptions | None = None,
) -> Result:
    """Translate a document until every paragraph is approved, rejected, or waits for a person.

    The same call again resumes the run, and translates only paragraphs that have changed.
    """
    order = Order(
        Path(document), source_language, target_language, Path(out), run_id, url, options or TranslateOptions()
    )
    return translate(order, workers or WorkerOptions(), RunObserver())


def translate(
    order: Order, workers: WorkerOptions, observer: RunObserver[RunSnapshot], forked: Sequence[ForkedProcess] = ()
) -> Result:
    """Carry out an order. The document, the languages and the folder are checked before anything is written.

    `forked`: processes that become its workers; without them workers are new interpreters.
    """
    document = read_document(order.document)
    check_tools(order)
    memory = RunFolder(order.folder).check_owner(document, order.languages)
    check_place(order, memory, workers)
    with hold(order.folder, order.name) as held, writing(order.folder):
        settings = _begin(order)
        with closing(Toolchain(settings)) as toolchain:
            toolchain.claim_name(is_new=memory is None)
            document = RunFolder(order.folder).document()
            planned = rework(toolchain, document) if workers.rework_only else plan(toolchain, document)
            write_files(toolchain, document)
            under_lock = RunObserver(observer.show, observer.stop, held.check)
            snapshot = run_workers(toolchain, document, workers, under_lock, forked)
            held.confirm()
            found = _write(toolchain, document)
    return Result(order.folder, planned, snapshot, tuple(found))


def check_tools(order: Order) -> None:
    """Check that the translator supports the language pair, and that the other named tools exist."""
    options = order.options
    with closing(make_translator(options.translator)) as translator:
        translator.check(*order.languages)
    if options.back_translator:
        make_translator(options.back_translator).close()
    if options.reviewer:
        make_endpoint(options.reviewer)


def check_place(order: Order, memory: RunFile | None, workers: WorkerOptions) -> None:
    """Check the run's name, and that its database answers and has no other run of this name."""
    check_name(order.document.name)
    if memory is not None:
        return
    if workers.rework_only:
        raise RunMissing(f"There is nothing to rework in {order.folder}.")
    if order.url:
        with closing(Leasehold(order.url)) as app:
            if next(app.machine.jobs(KIND, prefix=f"{order.name}/"), None) is not None:
                raise RunForeign(f"The database has a run {order.name} already, of another folder.")


def _begin(order: Order) -> RunSettings:
    """Record the run's identity and options in its folder, under its lock."""
    folder = RunFolder(order.folder)
    content = order.document.read_bytes()
    document = read_document(order.document)
    memory = folder.check_owner(document, order.languages)
    made = (document.name, document.format, *order.languages, now(), database_kind(order.url), token_hex(16))
    memory = RunFile(memory.identity if memory else RunIdentity(order.name, *made), order.options)
    settings = RunSettings.of(order.folder, memory, order.url)
    folder.sweep()
    folder.make()
    write_whole(folder.source(document.name), content)
    folder.remember(memory)
    return settings


def _write(toolchain: Toolchain, document: Document) -> list[ParagraphHistory]:
    found = write_files(toolchain, document)
    write_whole(toolchain.settings.folder / REPORT, report_page(toolchain.settings.identity, found).encode())
    return found


@contextmanager
def open_locked(folder: Path, url: str = "") -> Iterator[tuple[Toolchain, Document]]:
    """Open an existing run under its lock, to change it; its files are rewritten at the end."""
    settings = RunSettings.read(folder, url)
    with hold(folder, settings.identity.run_id) as lock, writing(folder), closing(Toolchain(settings)) as toolchain:
        document = RunFolder(folder).document()
        yield toolchain, document
        lock.confirm()
        _write(toolchain, document)


def project(folder: str | Path, *, url: str = "") -> None:
    """Rewrite the files of a run from its database."""
    with open_locked(Path(folder), url):
        pass


def status(folder: str | Path, *, url: str = "") -> list[ParagraphHistory]:
    with closing(Toolchain(RunSettings.read(Path(folder), url))) as toolchain:
        return list(histories(toolchain, RunFolder(Path(folder)).document()))

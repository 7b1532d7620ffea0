"""Orders of tests: a document that is written here, and a run of it in this process or one that is only planned."""

from contextlib import closing, contextmanager

from leasehold.pipelines.translate import api
from leasehold.pipelines.translate.export import project
from leasehold.pipelines.translate.folder import RunFolder
from leasehold.pipelines.translate.planning import plan
from leasehold.pipelines.translate.settings import TranslateOptions
from leasehold.pipelines.translate.toolchain import Toolchain


def make_order(folder, document, url="", **options):
    """An order for a document, from English to Spanish, below a folder."""
    return api.Order(document, "en", "es", folder / "runs", "", url, TranslateOptions(**options))


@contextmanager
def planned_run(order):
    """The toolchain and the document of an order that nobody has worked on yet."""
    with closing(Toolchain(api._begin(order))) as toolchain:  # noqa: SLF001
        document = RunFolder(order.folder).document()
        plan(toolchain, document)
        yield toolchain, document


def run_here(order):
    """Carry out an order with workers in this process, and return the histories of its paragraphs."""
    with planned_run(order) as (toolchain, document):
        toolchain.app.drain(timeout=300, concurrency=4)
        return project(toolchain, document)

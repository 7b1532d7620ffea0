"""A document translated paragraph by paragraph: reviewed, reworked where weak, approved or rejected, none twice.

    from leasehold.pipelines import translate

    result = translate.run("chapter.md", "en", "es", out="runs")
    print(result.counts)

`leasehold worker leasehold.pipelines.translate` serves the run that its environment names.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from leasehold.pipelines.translate.api import Result, look, project, run
    from leasehold.pipelines.translate.gate import Thresholds
    from leasehold.pipelines.translate.history import Story
    from leasehold.pipelines.translate.run_loop import Crew
    from leasehold.pipelines.translate.settings import Options

__all__ = ["Crew", "Options", "Result", "Story", "Thresholds", "look", "project", "run"]

# Who writes a reviewer imports a part of this package, and should not wait for the readers of documents.
_HOMES: Final = {
    "Crew": "run_loop",
    "Options": "settings",
    "Result": "api",
    "Story": "history",
    "Thresholds": "gate",
    "look": "api",
    "project": "api",
    "run": "api",
}


def __getattr__(name: str) -> Any:
    """Find a public name when it is asked for; the app of a worker process is made then, and not by the import."""
    if name == "app":
        from leasehold.pipelines.translate.settings import settings_of_this_process
        from leasehold.pipelines.translate.toolchain import Toolchain

        return Toolchain(settings_of_this_process()).app
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""A document translated paragraph by paragraph: reviewed, reworked where weak, approved or rejected, none twice.

    from leasehold.pipelines import translate

    result = translate.run("chapter.md", "en", "es", out="runs")
    print(result.counts)

`leasehold worker leasehold.pipelines.translate` serves the run that its environment names.
"""

from typing import Any

from leasehold.lazy import lazy_names
from leasehold.pipelines.shell.extras import explain_missing

_find, __dir__, __all__ = lazy_names(
    __name__,
    {
        "api": ["Result", "project", "run", "status"],
        "gate": ["Thresholds"],
        "history": ["ParagraphHistory"],
        "run_loop": ["WorkerOptions"],
        "settings": ["TranslateOptions"],
    },
    calls={"app": "toolchain:app_of_this_process"},
)


def __getattr__(name: str) -> Any:
    try:
        return _find(name)
    except ModuleNotFoundError as error:
        raise explain_missing(error, "translate") from error

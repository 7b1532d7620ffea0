"""Commands of the installed pipelines: found by their entry points, and listed even if what they need is missing."""

from __future__ import annotations

import re
from functools import cache
from importlib.metadata import Distribution, EntryPoint, EntryPoints, PackageNotFoundError, distribution, entry_points
from typing import Final

import click

from leasehold.errors import ExtraMissing

GROUP: Final = "leasehold.pipelines"
_needed = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)[^;]*;\s*extra\s*==\s*['\"]([^'\"]+)['\"]\s*")


def find_pipelines() -> EntryPoints:
    return entry_points(group=GROUP)


def load_pipeline(entry: EntryPoint) -> click.Command:
    """Load a pipeline's command. If a package of its extra is not installed, the list of commands shows that.

    A command names its extra (`extra`); one that cannot even be loaded is taken to need the extra of its own name.
    """
    try:
        command: click.Command = entry.load()
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == entry.module.partition(".")[0]:
            raise
        return _stand_in(entry, f"{error.name} is not installed; {_remedy(entry, entry.name)}")
    extra = getattr(command, "extra", "")
    if extra and missing_packages(entry.dist, extra):
        command.short_help = command.epilog = f"Not installed; {_remedy(entry, extra)}"
    return command


@cache
def missing_packages(owner: Distribution | None, extra: str) -> tuple[str, ...]:
    """Return the packages of an extra that are not installed; those for some systems only are not counted."""
    found = (_needed.fullmatch(text) for text in (owner.requires if owner else None) or ())
    return tuple(one[1] for one in found if one and one[2] == extra and not _is_installed(one[1]))


def _is_installed(package: str) -> bool:
    try:
        distribution(package)
    except PackageNotFoundError:
        return False
    return True


def _remedy(entry: EntryPoint, extra: str) -> str:
    name = entry.dist.name if entry.dist else "leasehold"
    extras = (entry.dist.metadata.get_all("Provides-Extra") if entry.dist else None) or ()
    return f"run: pip install '{name}[{extra}]'" if extra in extras else f"install what {name} needs"


def _stand_in(entry: EntryPoint, problem: str) -> click.Command:
    def refuse(**_: object) -> None:
        raise ExtraMissing(f"{problem}.")

    words = click.Argument(["words"], nargs=-1, type=click.UNPROCESSED)
    settings = {"ignore_unknown_options": True, "help_option_names": ["-h", "--help"]}
    return click.Command(
        entry.name,
        params=[words],
        callback=refuse,
        context_settings=settings,
        help=f"{problem[:1].upper()}{problem[1:]}.",
    )

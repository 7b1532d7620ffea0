"""The settings of a run: its document, its languages, and how its paragraphs are translated and reviewed.

Kept in the run's folder, where the workers read it. Never an address of a database, nor a key: those may be secrets
and come from the environment alone.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from msgspec import DecodeError, Struct, field

from leasehold.errors import Misuse
from leasehold.pipelines.shell.locate import HOME, database_url, local_database
from leasehold.pipelines.translate.gate import Thresholds
from leasehold.shapes import Shape

RUN: Final = "run.json"
DATABASE: Final = "translate.db"
VARIABLE: Final = "LEASEHOLD_TRANSLATE_DIR"
ATTEMPTS_MAX: Final = 4


class RunMissing(Misuse, code="RUN_MISSING"):
    """There is no run in this folder; make one with `leasehold translate DOCUMENT --from en --to es`."""


class RunIdentity(Struct, frozen=True):
    """What a run is of; that never changes."""

    run_id: str
    document_id: str
    format: str
    source_language: str
    target_language: str
    created_at: str
    database: str = ""  # what sort of database elsewhere its jobs lie in; empty: in its folder
    nonce: str = ""  # what no other folder has


class TranslateOptions(Struct, frozen=True):
    """How paragraphs are translated and reviewed from now on."""

    translator: str = "apertium"
    back_translator: str = "apertium"  # empty: no back-translation
    reviewer: str = ""  # a model that reviews too
    glossary: dict[str, str] = field(default_factory=dict)
    style: str = ""
    attempts_max: int = ATTEMPTS_MAX
    thresholds: Thresholds = field(default_factory=Thresholds)
    is_unattended: bool = False  # no person will decide: what would wait for one is rejected
    redact: bool = False


class RunFile(Struct, frozen=True):
    identity: RunIdentity
    options: TranslateOptions


_memory: Final = Shape[RunFile](RunFile)


@dataclass(frozen=True, slots=True)
class RunSettings:
    """A run: where it lies, what it is of, how it is done, and the address of a database elsewhere, if any."""

    folder: Path
    identity: RunIdentity
    options: TranslateOptions
    url: str = ""

    @classmethod
    def read(cls, folder: Path, url: str = "") -> RunSettings:
        if (memory := read_run_file(folder)) is None:
            raise RunMissing(f"The folder is {folder}.")
        return cls.of(folder, memory, url)

    @classmethod
    def of(cls, folder: Path, memory: RunFile, url: str) -> RunSettings:
        used = database_url(folder, url, memory.identity.database, is_inside=True)
        return cls(folder, memory.identity, memory.options, used)

    @property
    def database(self) -> str:
        """The engine's database: the one that was named, or the one in the folder."""
        return self.url or local_database(self.folder, DATABASE)

    def environment(self) -> dict[str, str]:
        return {"LEASEHOLD_URL": self.database, VARIABLE: str(self.folder.absolute())}


def read_run_file(folder: Path) -> RunFile | None:
    try:
        text = (folder / HOME / RUN).read_text(encoding="utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise RunMissing(f"{folder / HOME / RUN} cannot be read: {error.strerror}.") from None
    try:
        return _memory.decode(text)
    except DecodeError as error:
        raise RunMissing(f"{folder / HOME / RUN} cannot be read ({error}); remove it to start again.") from None


def settings_of_this_process() -> RunSettings:
    if not (folder := os.environ.get(VARIABLE)):
        raise Misuse(f"A worker needs the run's folder: set {VARIABLE}, and LEASEHOLD_URL.")
    return RunSettings.read(Path(folder))

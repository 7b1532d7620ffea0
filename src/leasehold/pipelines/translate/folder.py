"""A run's folder: what lies where, and files that are there whole or not at all."""

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from msgspec import to_builtins

from leasehold.errors import Misuse, Unavailable
from leasehold.pipelines.shell.locate import HOME
from leasehold.pipelines.translate.contract_files import MANIFEST, REVIEWS
from leasehold.pipelines.translate.documents import read_document
from leasehold.pipelines.translate.documents.document import Document
from leasehold.pipelines.translate.paragraphs import content_hash
from leasehold.pipelines.translate.settings import RUN, RunFile, read_run_file

NAME_BYTES_MAX: Final = 200
RUN_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z")
_control: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")  # a half of a character: bytes of no UTF-8
FOREIGN_MIN: Final = 3  # fewer paragraphs may all have been rewritten
_unfit: Final = re.compile(r"[^A-Za-z0-9._-]+")


class RunForeign(Misuse, code="RUN_FOREIGN"):
    """This folder holds the run of another document; use another --run-id or another --out."""


class RunIdInvalid(Misuse, code="RUN_ID_INVALID"):
    """A run id has at most 100 letters, digits, dots, dashes and underscores, and starts with a letter or digit."""


class DocumentNameInvalid(Misuse, code="DOCUMENT_NAME_INVALID"):
    """A document's name has at most 200 bytes of UTF-8 and no control characters; rename the file."""


class FolderUnwritable(Unavailable, code="FOLDER_UNWRITABLE"):
    """A file of the run cannot be written; give it room and permission, and run the same again."""


@dataclass(frozen=True, slots=True)
class RunFolder:
    root: Path

    @property
    def home(self) -> Path:
        return self.root / HOME

    def source(self, name: str) -> Path:
        return self.home / "source" / name

    def make(self) -> None:
        for folder in (self.home / "source", self.root / "state", self.root / "final", self.root / REVIEWS):
            folder.mkdir(parents=True, exist_ok=True)

    def remember(self, memory: RunFile) -> None:
        text = json.dumps(to_builtins(memory), ensure_ascii=False, indent=2)
        write_whole(self.home / RUN, f"{text}\n".encode())

    def document(self) -> Document:
        memory = read_run_file(self.root)
        assert memory is not None
        return read_document(self.source(memory.identity.document_id))

    def sweep(self) -> None:
        """Remove what interrupted writes have left. Only under the run's lock."""
        for leftover in self.root.rglob(".*.new"):
            leftover.unlink(missing_ok=True)

    def check_owner(self, document: Document, languages: tuple[str, str]) -> RunFile | None:
        """Return what the folder remembers of its run, if any; raise if it is the run of another document."""
        root = self.root
        if (memory := read_run_file(root)) is None:
            if (root / MANIFEST).exists():
                raise RunForeign(f"{root} has a manifest, and nothing shows that it is of {document.name}.")
            return None
        identity = memory.identity
        if identity.document_id != document.name:
            raise RunForeign(f"{root} is of {identity.document_id}, and this is {document.name}.")
        if (identity.source_language, identity.target_language) != languages:
            message = f"{root} translates from {identity.source_language} to {identity.target_language}"
            raise RunForeign(f"{message}, and not from {languages[0]} to {languages[1]}.")
        before = self.source(document.name)
        if before.exists():
            old, new = ({each.source for each in read.paragraphs} for read in (read_document(before), document))
            if min(len(old), len(new)) >= FOREIGN_MIN and not old & new:
                raise RunForeign(f"{root} is of a document of this name that has no paragraph in common with this one.")
        return memory


def write_whole(path: Path, content: bytes) -> bool:
    if path.is_file() and path.stat().st_size == len(content) and path.read_bytes() == content:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.new")
    try:
        with unfinished.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # If we die here the old file stays, with a leftover in its folder that the next start removes.
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    return True


@contextmanager
def writing(root: Path) -> Iterator[None]:
    """Raise errors of the file system, such as a full disk, as `FolderUnwritable`."""
    try:
        yield
    except BrokenPipeError:  # the reader of our output has gone
        raise
    except OSError as error:
        raise FolderUnwritable(f"{error.filename or root}: {error.strerror or error}.") from error


def run_id_of(given: str, document: str, source_language: str, target_language: str) -> str:
    """Return a run's id: the given one, or one made of the document's name and the languages.

    Refuse what cannot be the name of a folder everywhere.
    """
    stem = _unfit.sub("-", Path(document).stem).strip("-._")[:60] or content_hash(document)[7:19]
    run_id = given or f"{stem}-{source_language}-{target_language}"
    if not RUN_ID.match(run_id) or run_id.endswith("."):
        raise RunIdInvalid(f"This is {run_id[:120]!r}.")
    return run_id


def check_name(name: str) -> None:
    """Refuse the name of a document that no row could hold."""
    if _control.search(name) or len(name.encode()) > NAME_BYTES_MAX:
        raise DocumentNameInvalid(f"This is {name[:120]!r}.")

"""Everything that a child printed, kept in files: redacted before it is written, capped, published whole with sha256.

While a child runs, its output goes to drafts (`.stdout.txt.part`). `publish` makes them durable and gives them their
names, and then writes `evidence.json`, which lists them: a folder with that file is complete. After a crash the drafts
remain; they are redacted too, and may lack the last block. What is above the cap is counted, not kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from msgspec import Struct, json

from leasehold.errors import Unavailable
from leasehold.pipelines.agents.child.files import DraftFile, write_durably
from leasehold.pipelines.agents.child.lines import LineSplitter, OutputLine
from leasehold.pipelines.agents.child.redaction import RedactedLines
from leasehold.pipelines.agents.limits import EVIDENCE_BYTES_MAX, STDOUT_RESULT_BYTES_MAX
from leasehold.redact import Redactor

MANIFEST: Final = "evidence.json"
SCHEMA: Final = "leasehold.evidence@1"


class EvidenceUnwritable(Unavailable, code="URM_CHILD_EVIDENCE_UNWRITABLE"):
    """What a child printed cannot be written to disk; free some space and try again."""


class EvidenceFile(Struct, frozen=True):
    """One published file. `read` is how many bytes the child printed; where not all were kept, it is truncated."""

    name: str
    bytes: int
    sha256: str
    read: int
    lines_cut: int
    is_truncated: bool


class Evidence(Struct, frozen=True):
    """What was kept of a child."""

    folder: Path
    stdout: EvidenceFile
    stderr: EvidenceFile

    @property
    def is_truncated(self) -> bool:
        return self.stdout.is_truncated or self.stderr.is_truncated

    def output(self) -> str:
        """Return the beginning of standard output: the result of a command that sent none."""
        with (self.folder / self.stdout.name).open("rb") as file:
            return file.read(STDOUT_RESULT_BYTES_MAX).decode("utf-8", "ignore")


class EvidenceWriter:
    """Takes a child's output and writes it down, clean."""

    def __init__(self, folder: Path, redactor: Redactor, limit: int = EVIDENCE_BYTES_MAX) -> None:
        self._folder = folder
        space = _Space(limit)
        with _writing(folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._stdout = _Stream(folder, "stdout", redactor, space)
            self._stderr = _Stream(folder, "stderr", redactor, space)

    def stdout(self, chunk: bytes) -> None:
        with _writing(self._folder):
            self._stdout.write(chunk)

    def stderr(self, chunk: bytes) -> None:
        with _writing(self._folder):
            self._stderr.write(chunk)

    def publish(self) -> Evidence:
        """Make everything durable under its name; the list of files comes last."""
        with _writing(self._folder):
            evidence = Evidence(self._folder, self._stdout.publish(), self._stderr.publish())
            listed = {"schema": SCHEMA, "files": [evidence.stdout, evidence.stderr]}
            write_durably(self._folder / MANIFEST, [json.encode(listed)])
        return evidence

    def close(self) -> None:
        """Close the drafts without publishing them."""
        self._stdout.close()
        self._stderr.close()


class _Space:
    """What is left of a child's cap: of the bytes to read, which takes time, and of those to write."""

    def __init__(self, limit: int) -> None:
        self.to_read = limit
        self.to_write = limit


class _Stream:
    def __init__(self, folder: Path, stream: str, redactor: Redactor, space: _Space) -> None:
        self._name = f"{stream}.txt"
        self._file = DraftFile(folder / self._name)
        self._lines = LineSplitter()
        self._clean = RedactedLines(redactor)
        self._space = space
        self._read = self._cut = 0
        self._is_truncated = False

    def write(self, chunk: bytes) -> None:
        self._read += len(chunk)
        kept = chunk[: self._space.to_read]
        self._space.to_read -= len(kept)
        self._is_truncated |= len(kept) < len(chunk)
        for line in self._lines.feed(kept) if kept else ():
            self._add(line)

    def publish(self) -> EvidenceFile:
        for line in self._lines.end():
            # The cap ended this line, so half a secret may stand at its end.
            self._add(line._replace(cut=line.cut + 1) if self._is_truncated else line)
        self._put(self._clean.end())
        digest = self._file.publish()
        return EvidenceFile(self._name, self._file.size, digest, self._read, self._cut, self._is_truncated)

    def close(self) -> None:
        self._file.close()

    def _add(self, line: OutputLine) -> None:
        self._cut += line.cut > 0
        self._put(self._clean.feed(line))

    def _put(self, lines: Iterable[str]) -> None:
        for text in lines:
            content = text.encode("utf-8", "backslashreplace") + b"\n"
            if len(content) > self._space.to_write:
                self._space.to_write = self._space.to_read = 0
                self._is_truncated = True
                continue
            self._space.to_write -= len(content)
            self._file.write(content)


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise EvidenceUnwritable(f"{folder}: {error.strerror}.") from error

"""Texts without secrets stay as they are: at most one line of a thousand may be taken for one."""

import base64
import hashlib
import random
import sysconfig
import uuid
from collections.abc import Iterable
from pathlib import Path

import pytest

from leasehold.redact import Redactor

ROOT = Path(__file__).parents[2]
SHARE_MAX = 0.001
STANDARD_LIBRARY_LINES_MIN = 300_000
LINES = 5_000
DICE = random.Random(1_729)
ALGORITHMS = ("md5", "sha1", "sha256", "sha384", "sha512", "blake2s")


def standard_library(every: int) -> Iterable[str]:
    """One of so many files. The tests of the standard library hold real keys, so they are no benign text."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    for path in sorted(folder.rglob("*.py"))[::every]:
        if not {"test", "tests", "idle_test", "site-packages"} & set(path.relative_to(folder).parts):
            yield path.read_text(encoding="utf-8", errors="replace")


def altered(texts: Iterable[str]) -> tuple[int, int]:
    """Return how many lines were changed, and of how many."""
    redactor = Redactor()
    changed = total = 0
    for text in texts:
        before, after = text.split("\n"), redactor.redact(text).text.split("\n")
        changed += sum(old != new for old, new in zip(before, after, strict=True))
        total += len(before)
    return changed, total


def octets(number: int) -> bytes:
    return DICE.getrandbits(8 * number).to_bytes(number, "big")


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.soak)])
def test_the_standard_library_is_left_alone(every):
    changed, total = altered(standard_library(every))
    assert total >= STANDARD_LIBRARY_LINES_MIN // every // 2
    assert changed <= SHARE_MAX * total


def test_lock_files_are_left_alone():
    texts = [path.read_text() for path in sorted((ROOT / "requirements").glob("*.txt"))]
    changed, total = altered(texts)
    assert total >= 1_000
    assert changed == 0


def test_hashes_of_all_kinds_are_left_alone():
    lines = [
        line.format(name=name, digest=hashlib.new(name, octets(16)).hexdigest())
        for number, name in zip(range(LINES), ALGORITHMS * LINES, strict=False)
        for line in ("{digest}", "    --hash={name}:{digest} \\", '"checksum": "{digest}",')[
            number % 3 : number % 3 + 1
        ]
    ]
    assert altered(["\n".join(lines)]) == (0, LINES)


def test_identifiers_drawn_by_lot_are_left_alone():
    lines = [f"job {uuid.UUID(bytes=octets(16))} done" for _ in range(LINES)]
    lines += [uuid.UUID(bytes=octets(16)).hex.upper() for _ in range(LINES)]
    assert altered(["\n".join(lines)]) == (0, 2 * LINES)


def test_the_integrity_lines_of_a_node_lock_file_are_left_alone():
    digests = (base64.b64encode(octets(64)).decode() for _ in range(LINES))
    lines = [f'      "integrity": "sha512-{digest}",' for digest in digests]
    assert altered(["\n".join(lines)]) == (0, LINES)


def test_the_documents_and_sources_of_this_repository_are_left_alone():
    paths = [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "src").rglob("*.py"),
        *(ROOT / "src").rglob("*.sql"),
    ]
    changed, total = altered(path.read_text() for path in sorted(paths))
    assert changed <= SHARE_MAX * total

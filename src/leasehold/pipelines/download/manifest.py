"""Manifests: what a person wants to have, one artifact a line.

JSON Lines with `work_id`, `artifact_id`, `url`, optional `sha256` and `filename`; or a plain list of URLs, whose work
is the host and whose artifact is the address itself. All unreadable lines are reported at once, with their numbers:
a manifest is accepted whole or not at all, so no part of it is left out silently.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from leasehold.pipelines.download.http.urls import UrlRefused, canonical_url, host_of
from leasehold.pipelines.download.idempotency import job_key

LINES_MAX: Final = 1_000_000
LINE_LENGTH_MAX: Final = 64 * 1024
WORD_LENGTH_MAX: Final = 512
FAULTS_MAX: Final = 20
FIELDS: Final = ("work_id", "artifact_id", "url", "sha256", "filename")
_sha256: Final = re.compile(r"[0-9a-fA-F]{64}\Z")
_unprintable: Final = re.compile(r"[\x00-\x1f\x7f\ud800-\udfff]")


class ManifestInvalid(ValueError):
    """The manifest cannot be read; `faults` has the lines and the reasons."""

    def __init__(self, faults: list[str]) -> None:
        more = f"\n… and {len(faults) - FAULTS_MAX:,} more" if len(faults) > FAULTS_MAX else ""
        super().__init__("\n".join(faults[:FAULTS_MAX]) + more)
        self.faults = faults


@dataclass(frozen=True)
class Artifact:
    """One file that is wanted. `url` is canonical."""

    work_id: str
    artifact_id: str
    url: str
    sha256: str | None = None
    filename: str | None = None

    @cached_property
    def key(self) -> str:
        """The key of its job: equal on every machine."""
        return job_key(self.work_id, self.artifact_id, self.url)

    @property
    def host(self) -> str:
        return host_of(self.url)

    def fields(self) -> dict[str, str]:
        known = {name: getattr(self, name) for name in FIELDS}
        return {name: value for name, value in known.items() if value is not None}


def read_manifest(lines: Iterable[str], *, tidy_query: bool = False) -> list[Artifact]:
    """Return every artifact once, in order; `ManifestInvalid` names each line that cannot be read."""
    found: dict[str, Artifact] = {}
    faults: list[str] = []
    for number, text in _meaningful(lines):
        try:
            artifact = parse_line(text, tidy_query=tidy_query)
        except ValueError as error:
            faults.append(f"line {number}: {error}")
            continue
        if found.setdefault(artifact.key, artifact) != artifact:
            faults.append(f"line {number}: {artifact.url} stands above with another sha256 or filename")
    if faults:
        raise ManifestInvalid(faults)
    return list(found.values())


def _meaningful(lines: Iterable[str]) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(lines, 1):
        if number > LINES_MAX:
            raise ManifestInvalid([f"line {number}: a manifest has at most {LINES_MAX:,} lines; split it"])
        text = line.strip().removeprefix("\ufeff")
        if text and not text.startswith("#"):
            yield number, text


def parse_line(text: str, *, tidy_query: bool = False) -> Artifact:
    if len(text) > LINE_LENGTH_MAX:
        raise ValueError(f"it has {len(text):,} characters; the limit is {LINE_LENGTH_MAX:,}")
    if not text.startswith("{"):
        url = _url(text, tidy_query=tidy_query)
        return Artifact(host_of(url), url, url)
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("it is neither an address nor a JSON object") from None
    return _artifact(fields, tidy_query=tidy_query)


def _artifact(fields: dict[str, Any], *, tidy_query: bool) -> Artifact:
    if unknown := sorted(fields.keys() - set(FIELDS)):
        raise ValueError(f"unknown field '{unknown[0][:80]}'; known are {', '.join(FIELDS)}")
    for name in ("work_id", "artifact_id", "url"):
        if name not in fields:
            raise ValueError(f"'{name}' is missing")
    sha256 = fields.get("sha256")
    if sha256 is not None and not (isinstance(sha256, str) and _sha256.match(sha256)):
        raise ValueError("'sha256' is 64 hexadecimal digits")
    filename = fields.get("filename")
    return Artifact(
        _word(fields["work_id"], "work_id"),
        _word(fields["artifact_id"], "artifact_id"),
        _url(fields["url"], tidy_query=tidy_query),
        sha256.lower() if sha256 else None,
        None if filename is None else _word(filename, "filename"),
    )


def _word(value: object, name: str) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str) or not 1 <= len(value) <= WORD_LENGTH_MAX or _unprintable.search(value):
        raise ValueError(f"'{name}' is a text of 1 to {WORD_LENGTH_MAX} printable characters")
    return value


def _url(value: object, *, tidy_query: bool) -> str:
    if not isinstance(value, str):
        raise UrlRefused("'url' is a text")
    return canonical_url(value, tidy_query=tidy_query)

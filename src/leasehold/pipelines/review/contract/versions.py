"""Which versions of schema and prompt a response may have. Versions are compared as numbers, part by part."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from leasehold.errors import Misuse
from leasehold.pipelines.review.contract.result import SCHEMA_VERSION
from leasehold.pipelines.review.limits import VERSION_DIGITS_MAX

SCHEMA_FORM: Final = re.compile(r"[0-9]+\.[0-9]+")
PROMPT_FORM: Final = re.compile(r"[0-9]+\.[0-9]+(\.[0-9]+)?")


class VersionInvalid(Misuse, code="REVIEW_VERSION_INVALID"):
    """A schema version is MAJOR.MINOR, a prompt version may have a third part, and a drift is not negative."""


@dataclass(frozen=True, slots=True)
class ExpectedVersions:
    """What the prompt asked for. `patch_drift` is how far the patch of the prompt version may differ: 0, not at all."""

    prompt_version: str
    schema_version: str = SCHEMA_VERSION
    patch_drift: int = 0

    def __post_init__(self) -> None:
        if not SCHEMA_FORM.fullmatch(self.schema_version) or not PROMPT_FORM.fullmatch(self.prompt_version):
            raise VersionInvalid(f"{self.schema_version[:40]!r} and {self.prompt_version[:40]!r} were given.")
        if self.patch_drift < 0:
            raise VersionInvalid(f"The drift is {self.patch_drift}.")

    def admit_schema(self, version: str) -> bool:
        """Return whether it is this schema version, or a newer minor of the same major."""
        if version == self.schema_version:
            return True
        found, expected = numbers(version), numbers(self.schema_version)
        return found is not None and expected is not None and found[0] == expected[0] and found[1] > expected[1]

    def admit_prompt(self, version: str) -> bool:
        """Return whether it is this prompt version, or differs by no more than the permitted drift of the patch."""
        if version == self.prompt_version:
            return True
        found, expected = numbers(version), numbers(self.prompt_version)
        if self.patch_drift == 0 or found is None or expected is None:
            return False
        return found[:2] == expected[:2] and abs(found[2] - expected[2]) <= self.patch_drift

    def is_newer_schema(self, version: str) -> bool:
        """Return whether an admitted version may have fields that are not known here."""
        return version != self.schema_version


def numbers(version: str) -> tuple[int, int, int] | None:
    """Return major, minor and patch, 0 if there is none; None if a part is absurdly long."""
    parts = version.split(".")
    if any(len(part) > VERSION_DIGITS_MAX for part in parts):
        return None
    major, minor, patch = (*map(int, parts), 0)[:3]
    return major, minor, patch

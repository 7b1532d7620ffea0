"""The templates of prompts: one folder for each version, part of the package, never edited once it is released.

A template has the literals of its own version and of the schema version that it asks for. A later wording is a new
version: a patch if it only makes something clearer, a minor or major version if it asks for something else.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from leasehold.errors import Misuse
from leasehold.pipelines.review.contract import SCHEMA_VERSION, ExpectedVersions

CURRENT: Final = "1.0.0"
# Which schema version each prompt asks for.
SCHEMAS: Final = {"1.0.0": SCHEMA_VERSION}


class PromptUnknown(Misuse, code="REVIEW_PROMPT_UNKNOWN"):
    """There is no prompt of this version in the package."""


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """Two texts, before anything of a change is put in: what the model is, and what it is given."""

    prompt_version: str
    schema_version: str
    system: str
    user: str

    @property
    def expected(self) -> ExpectedVersions:
        """Return what a response to this prompt must have."""
        return ExpectedVersions(self.prompt_version, self.schema_version)


def prompt_versions() -> tuple[str, ...]:
    """Return every version in the package, the oldest first."""
    return tuple(SCHEMAS)


@cache
def load_template(version: str = CURRENT) -> PromptTemplate:
    if version not in SCHEMAS:
        raise PromptUnknown(f"It is {version[:40]!r}; there are {', '.join(SCHEMAS)}.")
    folder = files("leasehold.pipelines.review.prompts").joinpath("templates", version)
    system, user = (folder.joinpath(f"{name}.txt").read_text(encoding="utf-8") for name in ("system", "user"))
    return PromptTemplate(version, SCHEMAS[version], system, user)

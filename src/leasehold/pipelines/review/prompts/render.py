"""Puts redacted files into a template. What is sent is redacted once more as a whole, and checked.

The boundary around the change is a digest of the change, so nothing in the change can hold it. Everything is put in
in one pass: what looks like a placeholder of the template inside a file stays as it is.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from leasehold.pipelines.review.prompts.redacted_change import RedactedFile
from leasehold.pipelines.review.prompts.template import PromptTemplate
from leasehold.redact import Redacted, Redactor, redact_guarded

PLACEHOLDER: Final = re.compile(r"\{\{(changed_files|boundary|diff)\}\}")
BOUNDARY_DIGITS: Final = 12


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is sent, and what its response is parsed with."""

    template: PromptTemplate
    system: Redacted
    user: Redacted
    changed_files: tuple[str, ...]


def render(template: PromptTemplate, files: Sequence[RedactedFile], redactor: Redactor) -> Prompt:
    """Return the prompt about some files, or raise `RedactionFailed`."""
    paths = tuple(dict.fromkeys(file.path.text for file in files))
    diff = "\n".join(map(file_block, files))
    values = {
        "changed_files": "\n".join(json.dumps(path, ensure_ascii=False) for path in paths),
        "boundary": hashlib.sha256(diff.encode("utf-8", "replace")).hexdigest()[:BOUNDARY_DIGITS],
        "diff": diff,
    }
    user = PLACEHOLDER.sub(lambda found: values[found[1]], template.user)
    return Prompt(template, redact_guarded(template.system, redactor), redact_guarded(user, redactor), paths)


def file_block(file: RedactedFile) -> str:
    """Return one file as it stands in a prompt."""
    head = f"FILE {json.dumps(file.path.text, ensure_ascii=False)} {file.action}"
    return f"{head}\n{file.hunks.text}"

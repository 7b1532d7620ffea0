"""The SQL of this pipeline: files below `sql`, one operation each, with named parameters. Nothing is put together."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

_ROOT: Final = files("leasehold.pipelines.download") / "sql"


@cache
def steps(folder: str, name: str) -> tuple[str, ...]:
    """Return a file's statements one by one; each ends with a semicolon at the end of a line."""
    text = _ROOT.joinpath(*folder.split("/"), f"{name}.sql").read_text(encoding="utf-8")
    body = "\n".join(line for line in text.splitlines() if not line.startswith("--"))
    return tuple(step.strip() for step in f"{body}\n".split(";\n") if step.strip())

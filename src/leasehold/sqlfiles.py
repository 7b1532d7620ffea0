"""SQL files of a package: below its folder `sql`, one operation a file, with named parameters, never put together."""

from functools import cache
from importlib.resources import files


@cache
def text(package: str, name: str) -> str:
    """Return the text of a file; `name` is its path below `sql`, without the suffix."""
    return files(package).joinpath("sql", *f"{name}.sql".split("/")).read_text(encoding="utf-8")


@cache
def steps(package: str, name: str) -> tuple[str, ...]:
    """Return a file's statements one by one; each ends with a semicolon at the end of a line."""
    body = "\n".join(line for line in text(package, name).splitlines() if not line.startswith("--"))
    return tuple(step.strip() for step in f"{body}\n".split(";\n") if step.strip())

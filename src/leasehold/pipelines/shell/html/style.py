"""The style sheet of report pages, which is a file of its own."""

from functools import cache
from importlib.resources import files


@cache
def style_sheet() -> str:
    return files(__package__).joinpath("page.css").read_text(encoding="utf-8").strip()

"""A live display on standard error while a pipeline runs; nothing where that is no terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.console import RenderableType

S = TypeVar("S")


@contextmanager
def live_display(make_renderer: Callable[[], Callable[[S], RenderableType]]) -> Iterator[Callable[[S], None]]:
    """Yield a function that draws a snapshot. Rich, and the renderer that needs it, are imported for terminals only."""
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.live import Live

    render = make_renderer()
    live = Live(console=Console(stderr=True), refresh_per_second=4, transient=True)

    def show(snapshot: S) -> None:
        live.update(render(snapshot))
        live.start()  # with the first snapshot; without effect afterwards

    try:
        yield show
    finally:
        live.stop()

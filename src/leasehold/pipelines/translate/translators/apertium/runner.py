"""A text passes through a direction's programs: those without memory stay running, the tagger is started each time.

apertium-tagger learns from every text that it reads: words that may be several things at once are added to what it
knows, and the next text comes out otherwise. In a pipeline that stays a translation would depend on all before it,
and a run that was interrupted would end with other words. A tagger of its own for each text costs some ten
milliseconds, and makes the same text come out the same.
"""

import subprocess
import time
from itertools import groupby
from pathlib import PurePath
from typing import Final

from leasehold.pipelines.translate.translators.apertium.pipeline import (
    ApertiumPipeline,
    PipelineDied,
    missing_program,
    too_late,
)

LEARNS: Final = "apertium-tagger"
FLUSH: Final = "-z"


class ApertiumPrograms:
    """The running programs of one direction. Not thread-safe: callers that share one hold a lock."""

    def __init__(self, programs: list[list[str]]) -> None:
        self._steps: list[ApertiumPipeline | FreshProgram] = []
        try:
            for learns, group in groupby(programs, key=_learns):
                several = list(group)
                self._steps += [FreshProgram(words) for words in several] if learns else [ApertiumPipeline(several)]
        except BaseException:
            self.close()
            raise

    @property
    def usable(self) -> bool:
        """Whether these programs are of this process: after a fork they are still the parent's."""
        return all(step.usable for step in self._steps)

    def ask(self, text: str, tails: tuple[str, str], timeout: float) -> str:
        """Return what the programs make of a text that ends with the first of `tails`.

        What the last of them answers must end likewise, what others do with the second. Raises `PipelineDied`, or
        `Transient` when they take too long.
        """
        deadline = time.monotonic() + timeout
        for number, step in enumerate(self._steps, start=1):
            is_last = number == len(self._steps)
            text = step.ask(text, tails[0] if is_last else tails[1], max(0.0, deadline - time.monotonic()))
        return text

    def close(self) -> None:
        for step in self._steps:
            step.close()


class FreshProgram:
    """A program that is started for each text, and ends with it."""

    usable = True

    def __init__(self, words: list[str]) -> None:
        self._words = [word for word in words if word != FLUSH]

    def ask(self, text: str, tail: str, timeout: float) -> str:
        try:
            ended = subprocess.run(
                self._words, input=text.encode(), capture_output=True, timeout=timeout, check=False, process_group=0
            )
        except subprocess.TimeoutExpired:
            raise too_late(timeout) from None
        except OSError as error:
            raise missing_program(error, self._words) from None
        output = ended.stdout.decode("utf-8", "replace")
        if ended.returncode or not output.endswith(tail):
            raise PipelineDied
        return output

    def close(self) -> None:
        """Nothing stays behind."""


def _learns(words: list[str]) -> bool:
    return PurePath(words[0]).name == LEARNS

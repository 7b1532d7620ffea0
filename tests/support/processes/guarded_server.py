"""A server program of a test, in a folder of its own. Both are removed when the test ends, or when its process dies."""

import shutil
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.support.databases.postgres import watch
from tests.support.wait import until


class GuardedServer:
    """Has a guarded folder; a subclass starts `_process` in it and knows when that answers."""

    _process: subprocess.Popen[bytes]

    def __init__(self, name: str) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix=f"leasehold-{name}-", dir="/tmp"))
        self._guard = watch(self._folder)

    def _answers(self) -> bool:
        raise NotImplementedError

    def __enter__(self) -> Self:
        until(self._answers)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait(timeout=60)
        shutil.rmtree(self._folder)
        self._guard.communicate()

"""A real language model on this machine, served with OpenAI's interface by a process of its own.

The model has 135 million parameters and writes nonsense; transport, schema, token counts and times are real. The
process ends when its standard input does, so it is gone with its owner, however that one goes.
"""

import subprocess
import sys
from http.client import HTTPConnection
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from tests.support.databases.postgres import free_port
from tests.support.wait import until


class LocalModel:
    """Starts the server; leaving the block ends it."""

    def __init__(self) -> None:
        self.base = f"http://127.0.0.1:{free_port()}"
        self._process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("model_process.py")), str(urlsplit(self.base).port)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    @property
    def spec(self) -> str:
        """As a person would name it to `leasehold translate`."""
        return f"openai:smollm2@{self.base}/v1"

    @property
    def pid(self) -> int:
        return self._process.pid

    def _answers(self) -> bool:
        if self._process.poll() is not None:
            raise RuntimeError(f"the local model did not start: exit status {self._process.returncode}")
        connection = HTTPConnection(urlsplit(self.base).netloc, timeout=60)
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == 200
        except ConnectionRefusedError:
            return False
        finally:
            connection.close()

    def __enter__(self) -> Self:
        try:
            until(self._answers, timeout=120, every=0.05)
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

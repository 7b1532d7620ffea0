"""`leasehold agents serve` in a process of its own, on a free port of loopback, with a folder of its own."""

import os
import signal
from pathlib import Path
from typing import Self

from tests.pipelines.agents.http.client import Client
from tests.support.processes.fork_server import Process, start_module
from tests.support.wait import until


class AgentsServer:
    """A server that runs as long as the block; `module` is another program that does the same."""

    def __init__(self, folder: Path, url: str, *options: str, module: tuple[str, ...] = ()) -> None:
        self.folder = folder
        self.url = url
        self._output = folder / f"output-{len(list(folder.glob('output-*')))}"
        self._log = self._output.with_name(self._output.name.replace("output", "log"))
        words = module or ("leasehold", "agents", "serve", "--port", "0")
        with self._output.open("wb") as output, self._log.open("wb") as log:
            arguments = [*words[1:], "--folder", str(folder), "--url", url, *options]
            environment = {**os.environ, "LEASEHOLD_URL": url}
            self.process: Process = start_module(
                words[0], *arguments, env=environment, cwd=folder, stdout=output, stderr=log
            )
        until(lambda: self.text or self.process.poll() is not None)
        assert self.text, self.log
        self.client = Client(self.text.split()[2].rstrip(","), self.token)

    @property
    def text(self) -> str:
        """What it has printed."""
        return self._output.read_text()

    @property
    def log(self) -> str:
        return self._log.read_text()

    @property
    def token(self) -> str:
        return (self.folder / ".leasehold" / "agents-http.token").read_text().strip()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def terminate(self) -> int:
        """Stop it with SIGTERM; return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.terminate()

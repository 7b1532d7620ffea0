"""Files to fetch, made from a seed, and an nginx that serves them over the loopback as fast as it can."""

from __future__ import annotations

import contextlib
import hashlib
import os
import random
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.support.databases.postgres import free_port, watch
from tests.support.wait import until

SEED = 20_251_021
SMALL_MIN, SMALL_MAX = 4_000, 64_000
BLOCK = 1_000_000
SETTINGS = """
daemon off;
master_process off;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  sendfile on;
  tcp_nopush on;
  keepalive_requests 1000000;
  client_body_temp_path {folder}/temporary;
  proxy_temp_path {folder}/temporary;
  fastcgi_temp_path {folder}/temporary;
  uwsgi_temp_path {folder}/temporary;
  scgi_temp_path {folder}/temporary;
  server {{ listen 127.0.0.1:{port}; root {folder}/files; }}
}}
"""


class ToolMissing(Exception):
    """A program that the measurement needs is not installed."""


def tool(name: str) -> str:
    """Return where a program is; Debian puts servers where only root looks."""
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if found is None:
        raise ToolMissing(f"{name} is not installed; on Debian and Ubuntu: apt install nginx-light aria2 wget")
    return found


@dataclass(frozen=True, slots=True)
class Matter:
    """What is fetched: its addresses in a file, one a line, and the hashes and bytes that must come of it."""

    name: str
    addresses: Path
    hashes: frozenset[str]
    size: int

    @property
    def count(self) -> int:
        """How many files there are."""
        return len(self.hashes)


@dataclass(frozen=True, slots=True)
class Source:
    """A server that runs, and what it serves."""

    folder: Path
    port: int

    def make(self, name: str, sizes: list[int]) -> Matter:
        """Make files of these sizes, the same at every run."""
        dice = random.Random(f"{SEED} {name}")
        below = self.folder / "files" / name
        below.mkdir(parents=True)
        addresses, hashes = [], set()
        for number, size in enumerate(sizes):
            digest = hashlib.sha256()
            with (below / f"{number:05}.bin").open("wb") as file:
                for begin in range(0, size, BLOCK):
                    block = dice.randbytes(min(BLOCK, size - begin))
                    digest.update(block)
                    file.write(block)
            hashes.add(digest.hexdigest())
            addresses.append(f"http://127.0.0.1:{self.port}/{name}/{number:05}.bin\n")
        listed = self.folder / f"{name}.txt"
        listed.write_text("".join(addresses), encoding="ascii")
        return Matter(name, listed, frozenset(hashes), sum(sizes))


def small_sizes(count: int) -> list[int]:
    """Return the sizes of small files: every length from 4 to 64 kB is as likely."""
    dice = random.Random(SEED)
    return [dice.randint(SMALL_MIN, SMALL_MAX) for _ in range(count)]


@contextmanager
def serving() -> Iterator[Source]:
    """Start nginx on a fresh folder; both are gone at the end."""
    program = tool("nginx")
    folder = Path(tempfile.mkdtemp(prefix="leasehold-bench-"))
    guard = watch(folder)
    port = free_port()
    (folder / "files").mkdir()
    settings = folder / "nginx.conf"
    settings.write_text(SETTINGS.format(folder=folder, port=port), encoding="utf-8")
    words = [program, "-p", str(folder), "-c", str(settings), "-g", "user root;" if os.geteuid() == 0 else ""]
    process = subprocess.Popen(words, cwd=folder, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until(lambda: _answers(process, port, folder))
        yield Source(folder, port)
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder)
        guard.communicate()


def _answers(process: subprocess.Popen[bytes], port: int, folder: Path) -> bool:
    if process.poll() is not None:
        raise RuntimeError(f"nginx did not start:\n{(folder / 'error.log').read_text(encoding='utf-8')}")
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
        return True
    return False

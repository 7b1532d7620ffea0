"""A real nginx on the loopback: a server that nobody here wrote, with a log of every answer. It is a Debian package."""

import contextlib
import json
import os
import socket
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.support.databases.postgres import free_port
from tests.support.processes.guarded_server import GuardedServer

SETTINGS = """
daemon off;
master_process off;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 256; }}
http {{
  types {{ text/plain txt; application/pdf pdf; }}
  default_type application/octet-stream;
  client_body_temp_path {folder}/temporary;
  proxy_temp_path {folder}/temporary;
  fastcgi_temp_path {folder}/temporary;
  uwsgi_temp_path {folder}/temporary;
  scgi_temp_path {folder}/temporary;
  log_format lines escape=json '{{"method":"$request_method","path":"$uri","status":$status,"sent":$body_bytes_sent,'
    '"if_range":"$http_if_range","secret":"$http_x_secret","encoding":"$http_accept_encoding",'
    '"content_range":"$sent_http_content_range","port":$server_port}}';
  access_log {folder}/access.log lines;
  gzip on;
  gzip_min_length 1;
  gzip_types *;
  sendfile off;
  output_buffers 1 16k;
  server {{
    listen 127.0.0.1:{first};
    root {folder}/files;
    set $pace {rate};
    if (-f {folder}/hurry) {{ set $pace 0; }}
    location /slow/ {{ limit_rate $pace; alias {folder}/files/; }}
    location /undated/ {{ etag off; alias {folder}/files/; }}
    location /untagged/ {{ etag off; add_header Last-Modified ""; alias {folder}/files/; }}
    location /no-ranges/ {{ max_ranges 0; alias {folder}/files/; }}
    location /no-head/ {{ if ($request_method = HEAD) {{ return 405; }} alias {folder}/files/; }}
    location /forbidden/ {{ deny all; }}
    location /gone/ {{ return 410; }}
    location /busy/ {{ add_header Retry-After 120 always; return 429; }}
    location /down/ {{ add_header Retry-After 60 always; return 503; }}
    location /elsewhere/ {{ rewrite ^/elsewhere/(.*)$ http://127.0.0.1:{second}/$1 permanent; }}
    location /ring/ {{ return 302 http://127.0.0.1:{second}/ring/; }}
  }}
  server {{
    listen 127.0.0.1:{second};
    root {folder}/files;
    location /ring/ {{ return 302 http://127.0.0.1:{first}/ring/; }}
  }}
}}
"""


@dataclass(frozen=True, slots=True)
class Line:
    """One answer, as nginx wrote it down when it was over: `first` is where the bytes it sent begin."""

    method: str
    path: str
    status: int
    sent: int
    first: int
    if_range: str
    encoding: str
    secret: str
    port: int


class Nginx(GuardedServer):
    """Serves the folder `files` on two ports; under /slow/ at `rate` bytes a second, until it is asked to hurry."""

    def __init__(self, program: str, rate: int) -> None:
        super().__init__("nginx")
        self.first, self.second = free_port(), free_port()
        (self._folder / "files").mkdir()
        settings = self._folder / "nginx.conf"
        ports = {"first": self.first, "second": self.second}
        settings.write_text(SETTINGS.format(folder=self._folder, rate=rate, **ports))
        for path in (self._folder, self._folder / "files"):
            path.chmod(0o755)
        self._process = subprocess.Popen(
            [program, "-p", str(self._folder), "-c", str(settings), "-g", _account()],
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def add(self, name: str, content: bytes) -> Path:
        """Put a file there, whole at once, as a careful publisher does."""
        unfinished = self._folder / "unfinished"
        unfinished.write_bytes(content)
        return unfinished.replace(self._folder / "files" / name)

    def hurry(self) -> None:
        """Send what is asked for from now on as fast as it can be."""
        (self._folder / "hurry").touch()

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.first}{path}"

    @property
    def log(self) -> list[Line]:
        """What was answered so far; an answer that goes on is not there yet."""
        with (self._folder / "access.log").open(encoding="utf-8") as lines:
            return [_line(json.loads(line)) for line in lines if line.endswith("\n")]

    def gets(self, path: str) -> list[Line]:
        return [line for line in self.log if (line.method, line.path) == ("GET", path)]

    def _answers(self) -> bool:
        if self._process.poll() is not None:
            raise RuntimeError(f"nginx did not start:\n{(self._folder / 'error.log').read_text()}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.second)):
            return True
        return False


def _account() -> str:
    """Files belong to the user who runs the tests, so nginx runs as that user too."""
    return "user root;" if os.geteuid() == 0 else ""


def _line(entry: dict[str, str | int]) -> Line:
    begin = str(entry["content_range"]).removeprefix("bytes ").partition("-")[0]
    return Line(
        str(entry["method"]),
        str(entry["path"]),
        int(entry["status"]),
        int(entry["sent"]),
        int(begin) if begin.isdecimal() else 0,
        str(entry["if_range"]),
        str(entry["encoding"]),
        str(entry["secret"]),
        int(entry["port"]),
    )

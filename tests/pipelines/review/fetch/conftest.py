"""What the tests of fetching share: a depot behind a scripted p4 on PATH, and a real git repository."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from leasehold.pipelines.review.fetch import AllowList, ChangeFetcher, SecurityEvent, find_perforce

SCRIPT = Path(__file__).with_name("scripted_p4.py")
A = "//depot/projectA"


class Depot:
    """What the scripted p4 answers, and a fetcher that asks it."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "depot.json"
        self.fields: dict[str, Any] = {"changes": {}, "contents": {}, "lies": {}}
        self.denied: list[SecurityEvent] = []

    def submit(self, number: str, desc: str = "Fix it", **more: Any) -> None:
        self.fields["changes"][number] = {"desc": desc, "files": [], "more": more}

    def add(self, path: str, *contents: str, action: str = "", type_: str = "text", **more: Any) -> None:
        """Add a file with its revisions to the newest change."""
        action = action or ("edit" if len(contents) > 1 else "add")
        files = list(self.fields["changes"].values())[-1]["files"]
        files.append({"depotFile": path, "action": action, "type": type_, "rev": str(len(contents) or 2), **more})
        self.fields["contents"] |= {f"{path}#{at}": content for at, content in enumerate(contents, 1)}

    def fetcher(self, *entries: str, **options: Any) -> ChangeFetcher:
        self.path.write_text(json.dumps(self.fields))
        allow_list = AllowList.of(entries or (f"{A}/...",))
        return ChangeFetcher(allow_list, find_perforce(), on_denied=self.denied.append, **options)

    def commands(self) -> list[list[str]]:
        log = self.path.with_suffix(".log")
        return [json.loads(line)[0] for line in log.read_text().splitlines()] if log.exists() else []


@pytest.fixture
def depot(tmp_path, monkeypatch):
    program = tmp_path / "bin" / "p4"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable} -IS\n{SCRIPT.read_text()}")
    program.chmod(0o755)
    made = Depot(tmp_path)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("P4PORT", str(made.path))
    return made


class GitRepository:
    """A real repository."""

    def __init__(self, top: Path) -> None:
        self.top = top
        top.mkdir()
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *words: str) -> str:
        who = ("-c", "user.name=Ana", "-c", "user.email=ana@example.org", "-c", "protocol.file.allow=always")
        environment = os.environ | {"GIT_CONFIG_GLOBAL": "/dev/null"}
        command = ["git", *who, *words]
        return subprocess.run(command, cwd=self.top, env=environment, check=True, capture_output=True, text=True).stdout

    def commit(self, files: dict[str, str | bytes | None], message: str = "x") -> None:
        for name, content in files.items():
            path = self.top / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if content is None:
                path.unlink()
            else:
                path.write_bytes(content.encode() if isinstance(content, str) else content)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "-m", message)


@pytest.fixture
def repository(tmp_path):
    return GitRepository(tmp_path / "repository")

"""Empty environments with the built wheel in them, and the interpreters that there are to make them of."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.support.needs import Part
from tests.support.processes.fork_server import ROOT

THIS = f"{sys.version_info[0]}.{sys.version_info[1]}"
OTHERS = tuple(version for version in ("3.11", "3.12", "3.13", "3.14") if version != THIS)
UV = str(Path(sys.executable).with_name("uv"))
LOCK = ROOT / "requirements/run.txt"
ASK = "import sys; print('%d.%d' % sys.version_info[:2])"


def candidates(version: str) -> Iterator[str | None]:
    """Return where an interpreter may be: among those of pyenv, on the path, where uv looks; what is quick is first."""
    versions = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    yield from (str(path) for path in sorted(versions.glob(f"{version}*/bin/python{version}")))
    yield shutil.which(f"python{version}")
    found = run(UV, "python", "find", "--offline", "--no-project", version)
    yield found.stdout.strip() if found.returncode == 0 else None


@cache
def interpreter(version: str) -> str | None:
    """Return an interpreter of this version that runs; None without one."""
    if version == THIS:
        return sys.executable
    return next((path for path in candidates(version) if path and run(path, "-c", ASK).stdout.strip() == version), None)


def python_part(version: str) -> Part:
    name = f"Python {version}"
    return Part(name, lambda: interpreter(version) is not None, "put it on the path", is_optional=True)


def run(*words: object, folder: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program without what this interpreter's environment would add to it."""
    known = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "LEASEHOLD"))}
    command = [str(word) for word in words]
    return subprocess.run(
        command, cwd=folder, env=known | environment, capture_output=True, text=True, timeout=300, check=False
    )


def build_wheel(folder: Path) -> Path:
    """Build the wheel that would be published."""
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", folder]
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    built = run(sys.executable, "-m", "pip", "wheel", *options, ROOT, PATH=path)
    assert built.returncode == 0, built.stderr
    (wheel,) = folder.glob("*.whl")
    return wheel


class Environment:
    """An environment with nothing but Leasehold, one or more of its extras, and what these need.

    It takes the place of the one that was in `home` before, so that the bytecode of the same files is kept for it.
    """

    def __init__(self, folder: Path, home: Path, wheel: Path, version: str, *extras: str) -> None:
        self.folder = folder / "work"
        self.folder.mkdir()
        self._home = home / "environment"
        self._bytecode = {"PYTHONPYCACHEPREFIX": str(home / "bytecode")}
        made = run(UV, "venv", "--quiet", "--clear", "--python", interpreter(version), self._home)
        assert made.returncode == 0, made.stderr
        chosen = f"[{','.join(extras)}]" if extras else ""
        self._install(folder, f"leasehold{chosen} @ {wheel.as_uri()}")

    def _install(self, folder: Path, what: str) -> None:
        """Install the locked versions: from uv's cache, by uv, or by pip, which may know another way to an index."""
        python, plain = self._home / "bin/python", folder / "constraints.txt"
        pins = [line.removesuffix("\\").strip() for line in LOCK.read_text().splitlines() if "==" in line]
        plain.write_text("\n".join(pins))  # pip takes no hashes for some packages and none for others
        uv = [UV, "pip", "install", "--quiet", "--python", python, "--constraints", LOCK]
        pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--constraint", plain]
        tried = [run(*uv, "--offline", what)]
        for command in (uv, pip):
            if tried[-1].returncode != 0:
                tried.append(run(*command, what))
        assert tried[-1].returncode == 0, "\n".join(one.stderr for one in tried)

    def python(self, *words: object, **environment: str) -> subprocess.CompletedProcess[str]:
        return run(self._home / "bin/python", *words, folder=self.folder, **self._bytecode, **environment)

    def leasehold(self, *words: object, **environment: str) -> subprocess.CompletedProcess[str]:
        return run(self._home / "bin/leasehold", *words, folder=self.folder, **self._bytecode, **environment)

    def start(self, *words: object) -> subprocess.Popen[bytes]:
        command = [str(word) for word in (self._home / "bin/leasehold", *words)]
        environment = os.environ | self._bytecode
        return subprocess.Popen(command, cwd=self.folder, env=environment, stderr=subprocess.DEVNULL)

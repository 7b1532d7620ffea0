"""Environments of the peers, made on first use below `bench/.peers`: packages by name, at the versions written down."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from bench.compare.peers import Peer

BENCH = Path(__file__).parents[1]
HOMES = BENCH / ".peers"
SCRIPTS = BENCH / "peers"


class PeerMissing(Exception):
    """The peer cannot be installed here, so it is not measured."""


def home(peer: Peer) -> Path:
    """Return where a peer's environment is. The version is part of it, so that another one starts afresh."""
    return HOMES / peer.packages[0].replace("==", "-").replace("@", "-")


def python(peer: Peer) -> Path:
    """Return the interpreter that runs a peer's script."""
    if peer.is_ours:
        return Path(sys.executable)
    return home(peer) / ("Scripts" if os.name == "nt" else "bin") / "python"


def command(peer: Peer, *role: str) -> list[str]:
    """Return what starts one process of a peer."""
    runner = str(python(peer)) if peer.is_python else "node"
    return [runner, str(SCRIPTS / peer.script), *role]


def install(peer: Peer) -> str:
    """Make the environment unless it is there; return the versions in it."""
    if peer.is_ours:
        return ""
    if not (home(peer) / "made").exists():
        (_install_python if peer.is_python else _install_node)(peer)
        (home(peer) / "made").touch()
    return _versions(peer)


def _install_python(peer: Peer) -> None:
    uv = Path(sys.executable).with_name("uv")
    if uv.exists():
        _run(str(uv), "venv", "--quiet", "--clear", "--python", sys.executable, str(home(peer)))
        _run(str(uv), "pip", "install", "--quiet", "--python", str(python(peer)), *peer.packages)
    else:
        _run(sys.executable, "-m", "venv", "--clear", str(home(peer)))
        _run(str(python(peer)), "-m", "pip", "install", "--quiet", *peer.packages)


def _install_node(peer: Peer) -> None:
    if not shutil.which("node") or not shutil.which("npm"):
        raise PeerMissing("there is no node on this machine")
    home(peer).mkdir(parents=True, exist_ok=True)
    (home(peer) / "package.json").write_text("{}")
    _run("npm", "install", "--no-fund", "--no-audit", "--prefix", str(home(peer)), *peer.packages)


def _versions(peer: Peer) -> str:
    if peer.is_python:
        asking = "import importlib.metadata as m, sys; print(' '.join(f'{n} {m.version(n)}' for n in sys.argv[1:]))"
        names = [package.partition("==")[0].partition("[")[0] for package in peer.packages]
        return _run(str(python(peer)), "-c", asking, *names)
    name = peer.packages[0].partition("@")[0]
    found = json.loads((home(peer) / "node_modules" / name / "package.json").read_text())
    return f"{name} {found['version']}, node {_run('node', '--version').removeprefix('v')}"


def _run(*words: str) -> str:
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no reason given"]
        raise PeerMissing(f"`{Path(words[0]).name} {words[1]}` failed: {lines[-1]}")
    return done.stdout.strip()

"""The command of the runbook in a process of its own."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "scripts" / "translation_toolchain.py"
SECONDS_MAX = 60


def command(run_dir, *words, script=(str(SCRIPT),)):
    return [sys.executable, *script, "--run-dir", str(run_dir), "--run-id", "run-1", *words]


def run(run_dir, *words, script=(str(SCRIPT),)):
    """Run the command to its end; one that hangs fails the test."""
    return subprocess.run(
        command(run_dir, *words, script=script),
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )

"""Many starters on one stale lock: one wins, and the stale lock is kept as it was, once."""

import collections
import json
import random
import subprocess
import sys

import pytest

from leasehold.runlock.constants import EXIT_ACTIVE_LOCK, EXIT_OK
from tests.runlock.command_process import ROOT
from tests.runlock.lock_files import archives, lock_of, write_lock, write_raw

STARTERS = 32


@pytest.mark.parametrize("rounds", [50, pytest.param(200, marks=pytest.mark.soak)])
def test_s15_of_32_starters_on_one_stale_lock_exactly_one_wins_in_each_round(tmp_path, rounds):
    spread = random.Random(6)
    stale = {}
    for number in range(rounds):
        folder = tmp_path / f"round-{number:03}"
        content = write_lock(folder, pid=spread.randrange(1, 10**6)) + b" " * spread.randrange(100)
        stale[folder] = write_raw(folder, content)
    command = [sys.executable, "-m", "tests.runlock.crowd", str(tmp_path), str(STARTERS)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    codes: dict[str, collections.Counter[int]] = collections.defaultdict(collections.Counter)
    winner = {}
    for result in tmp_path.glob("starter-*.json"):
        for line in json.loads(result.read_text()):
            codes[line["folder"]][line["code"]] += 1
            if line["code"] == EXIT_OK:
                winner[line["folder"]] = f"starter-{line['starter']}"
    for folder, content in stale.items():
        assert codes[folder.name] == {EXIT_OK: 1, EXIT_ACTIVE_LOCK: STARTERS - 1}
        assert archives(folder) == {"RUNNING.stale.1800000000.lock": content}
        assert lock_of(folder)["run_id"] == winner[folder.name]
        left = {path.name for path in folder.iterdir()} - set(archives(folder))
        assert left == {"RUNNING.guard", "RUNNING.lock", "RUNNING.nonce"}

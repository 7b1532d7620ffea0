"""The workers of a download run on uvloop where that is installed, and on asyncio's own loop where it is not."""

import subprocess
import sys

import pytest

SCRIPT = """
import asyncio, sys
if sys.argv[1] == "without":
    sys.modules["uvloop"] = None
from leasehold.pipelines.download.hand import take_fast_loop
take_fast_loop()
loop = asyncio.new_event_loop()
print(type(loop).__module__.partition(".")[0])
loop.close()
"""


@pytest.mark.parametrize(("how", "whose"), [("with", "uvloop"), ("without", "asyncio")])
def test_a_worker_takes_the_faster_loop_if_it_is_there(how, whose):
    said = subprocess.run([sys.executable, "-c", SCRIPT, how], check=True, capture_output=True, text=True)
    assert said.stdout == f"{whose}\n"

"""Types that many threads read into at once, for the first time each."""

import subprocess
import sys

CROWD = """
import sys, threading
from msgspec import Struct, convert
from leasehold.shapes import Shape

sys.setswitchinterval(1e-6)
for number in range(200):
    inner = type(f"Inner{number}", (Struct,), {"__annotations__": {"x": int, "y": "list[int] | None"}})
    outer = type(f"Outer{number}", (Struct,), {"__annotations__": {"a": inner, "b": tuple[inner, ...]}})
    read = Shape(outer).convert if sys.argv[1] == "shape" else lambda value: convert(value, outer)
    gate = threading.Barrier(8)

    def go():
        gate.wait()
        read({"a": {"x": 1, "y": []}, "b": [{"x": 2, "y": None}]})

    crowd = [threading.Thread(target=go) for _ in range(8)]
    for one in crowd:
        one.start()
    for one in crowd:
        one.join()
"""


def test_threads_that_read_into_a_new_type_at_once_do_not_crash_the_process():
    ended = subprocess.run([sys.executable, "-c", CROWD, "shape"], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")

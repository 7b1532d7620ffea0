"""Time-outs and waits stand in files of limits, where one reads them side by side."""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator

from tests.tidy.allowed import check_allowed
from tests.tidy.tree import Source, sample, sources

WAIT = re.compile(r"_(SECONDS|TIMEOUT)(_MAX|_MIN)?$")
# `constants` of the run lock: its names are those of a published contract.
FILES_OF_LIMITS = {"limits", "constants"}


def waits(source: Source) -> Iterator[str]:
    """Yield the package for each time-out or wait that a module defines and should import."""
    if source.path.stem in FILES_OF_LIMITS:
        return
    for node in source.tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        for target in targets:
            if isinstance(target, ast.Name) and WAIT.search(target.id):
                yield "/".join(source.path.parts[:3])


def scattered(among: Iterable[Source]) -> Counter[str]:
    return Counter(wait for source in among for wait in waits(source))


def scattered_waits() -> Counter[str]:
    return scattered(sources("src"))


def test_time_outs_and_waits_stand_in_files_of_limits():
    assert scattered([sample("POLL_SECONDS = 2\n", path="src/leasehold/store/db/pool.py")]) == {
        "src/leasehold/store": 1
    }
    assert scattered([sample("CONNECT_TIMEOUT: Final = 2\nDELAY_SECONDS_MAX = 3\n")]).total() == 2
    assert not scattered([sample("POLL_SECONDS = 2\n", path="src/leasehold/model/limits.py")])
    assert not scattered([sample("from leasehold.model.limits import POLL_SECONDS\nSECONDS = 7\n")])
    check_allowed("limits", scattered_waits())

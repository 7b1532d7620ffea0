"""A folder shows its parts at a glance: at most 16 modules, or 16 statements of SQL."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tests.tidy.allowed import check_allowed
from tests.tidy.tree import files

SIBLINGS_MAX = 16
COUNTED = {".py", ".sql"}


def overfull(paths: Iterable[Path]) -> Counter[str]:
    """Count the modules and the statements of each folder that has too many of either."""
    counted = Counter(
        f"{path.parent.as_posix()}/*{path.suffix}"
        for path in paths
        if path.suffix in COUNTED and path.name not in {"__init__.py", "conftest.py"}
    )
    return Counter({folder: count for folder, count in counted.items() if count > SIBLINGS_MAX})


def full_rooms() -> Counter[str]:
    return overfull(path for path in files() if path.parts[0] in {"src", "tests", "bench", "examples"})


def test_no_folder_has_more_than_sixteen_modules_or_statements():
    modules = [Path(f"src/leasehold/x/part{number}.py") for number in range(17)]
    statements = [Path(f"src/leasehold/sql/x/part{number}.sql") for number in range(17)]
    assert overfull(modules) == {"src/leasehold/x/*.py": 17}
    assert overfull(statements) == {"src/leasehold/sql/x/*.sql": 17}
    assert not overfull([*modules[:16], *statements[:16], Path("src/leasehold/x/__init__.py")])
    check_allowed("rooms", full_rooms())

"""Packages whose public names are imported when they are first used, so that importing a part does not load the rest.

`__init__.py` has the table of names; `__init__.pyi` next to it has the same names for type checkers, and a test
compares the two. No module of the package is imported by `__init__.py`, so no module imports itself through it.

Nothing is imported here that `python -m leasehold` has not imported by itself: the working folder is still on the path.
"""

import sys
from _thread import RLock  # without `threading`, which takes longer to import than all the rest
from importlib import import_module

TYPE_CHECKING = False  # that of `typing` would be an import
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, Final

# Two modules that are imported at the same time may show msgspec the same type at the same time: see shapes.py.
_lock: "Final" = RLock()


def lazy_names(
    package: str, modules: "Mapping[str, Sequence[str]]", calls: "Mapping[str, str] | None" = None
) -> "tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]":
    """Return `__getattr__`, `__dir__` and `__all__` of a package, from the names that each of its modules defines.

    `calls` has names whose value is made by a function, `"module:function"`, each time; they are not in `__all__`.
    """
    homes = {name: module for module, names in modules.items() for name in names}

    def find(name: str) -> "Any":
        if calls is not None and name in calls:
            module, _, function = calls[name].partition(":")
            return getattr(_load(f"{package}.{module}"), function)()
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(_load(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    public = sorted(homes)
    return find, lambda: sorted({*vars(sys.modules[package]), *public}), public


def _load(module: str) -> "Any":
    with _lock:
        return import_module(module)

"""Finding the app that a command line names as `module:attribute`, or as `module` for the attribute `app`."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

from leasehold import Leasehold
from leasehold.cli.options import export_url, given_url
from leasehold.errors import AppInvalid, LeaseholdError, Misuse


def find_app(name: str) -> Leasehold:
    """Import the module, with this folder on the path, and return its app; `AppInvalid` names what is missing."""
    module_name, found, attribute = name.partition(":")
    attribute = attribute if found else "app"
    if not (module_name and attribute):
        raise AppInvalid(f"Got '{name}'; write it like shop.jobs:app.")
    export_url()
    if (here := str(Path.cwd())) not in sys.path:
        sys.path.insert(0, here)
    module = _import(module_name)
    app = getattr(module, attribute, None)
    if not isinstance(app, Leasehold):
        raise AppInvalid(_complaint(module, attribute))
    _check_url(app, name)
    return app


def _check_url(app: Leasehold, name: str) -> None:
    """Raise if the app does not use the command line's URL, which would be ignored."""
    if (url := given_url()) and app.url != url:
        app.close()
        remedy = "write `Leasehold()` without a URL there, or drop --url"
        raise Misuse(f"'{name}' names its own URL, so --url would be ignored; {remedy}.")


def _import(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except LeaseholdError:
        raise
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise AppInvalid(f"There is no module '{error.name}' in this folder or on the path.") from None
        raise AppInvalid(f"Importing '{name}' failed: {error}; install what is missing.") from error
    except (Exception, SystemExit) as error:
        cause = f"{type(error).__name__}: {error}".removesuffix(": ")
        raise AppInvalid(f"Importing '{name}' failed{_place(error)}: {cause}.") from error


def _place(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f" in {trace.tb_frame.f_code.co_filename}, line {trace.tb_lineno}" if trace is not None else ""


def _complaint(module: ModuleType, attribute: str) -> str:
    apps = sorted(name for name, value in vars(module).items() if isinstance(value, Leasehold))
    hint = f"Its apps: {', '.join(apps)}." if apps else "It has none: write `app = Leasehold()` there."
    if not hasattr(module, attribute):
        return f"'{module.__name__}' has no '{attribute}'. {hint}"
    return f"'{module.__name__}:{attribute}' is of type {type(getattr(module, attribute)).__name__}. {hint}"

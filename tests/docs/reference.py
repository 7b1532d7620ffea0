"""Writes docs/reference/ from the code: public names, commands, error codes, events, limits.

    python -m tests.docs.reference

`test_reference.py` fails when a page differs from what this would write.
"""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from typing import Any

import click
import msgspec

import leasehold
from leasehold import errors, runlock
from leasehold.cli.options import MEANINGS, exit_code_of
from leasehold.cli.root import root
from leasehold.model import limits
from leasehold.model.journal.event import Name as EventName
from leasehold.model.outbox import DeliveryStatus
from leasehold.runtime.observe import events
from tests.docs.descriptions import ATTRIBUTES, ENVIRONMENT, JOURNAL, LOG, PACKAGES

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "reference"
HEAD = "Generated from the code by `python -m tests.docs.reference` (`make reference`). Do not edit.\n"
STARS: dict[object, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}


def sentence(thing: object) -> str:
    """The first paragraph of a docstring, fit for a table cell."""
    first = (inspect.getdoc(thing) or "").split("\n\n")[0]
    return cell(" ".join(first.split()))


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def table(heads: list[str], rows: Iterable[Iterable[str]]) -> str:
    lines = ["| " + " | ".join(heads) + " |", "|" + " --- |" * len(heads)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)]) + "\n"


def signature(function: Callable[..., Any]) -> str:
    """Parameters with their defaults, without types: the prose and the sentence give those."""
    shown: list[str] = []
    is_keyword = False
    for parameter in inspect.signature(function).parameters.values():
        if parameter.name in {"self", "cls"}:
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            is_keyword = True
        if parameter.kind is parameter.KEYWORD_ONLY and not is_keyword:
            shown.append("*")
            is_keyword = True
        stars = STARS.get(parameter.kind, "")
        default = "" if parameter.default is parameter.empty else f"={_default(parameter.default)}"
        shown.append(f"{stars}{parameter.name}{default}")
    return f"({', '.join(shown)})"


def _default(value: object) -> str:
    text = repr(value.value if isinstance(value, Enum) else value)
    return "…" if " at 0x" in text or text.startswith("<") else text


def members(cls: type, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield the public attributes, properties and methods of a class, in the order of the source."""
    for name, what in ATTRIBUTES.get(cls.__name__, {}).items():
        yield f"`{prefix}{name}`", what
    own = [found for found in reversed(cls.__mro__) if found.__module__.startswith("leasehold.")]
    for name, member in {name: member for found in own for name, member in vars(found).items()}.items():
        is_callable_object = name == "__call__"
        if name.startswith("_") and not is_callable_object:
            continue
        shown = prefix.rstrip(".") if is_callable_object else f"{prefix}{name}"
        if isinstance(member, property):
            yield f"`{shown}`", sentence(member)
        elif inspect.isfunction(member):
            yield f"`{cell(shown + signature(member))}`", sentence(member)


def fields(cls: type) -> str:
    """Return the fields of a value, with plain defaults, comma-separated."""
    named: Iterable[Any] = msgspec.structs.fields(cls) if issubclass(cls, msgspec.Struct) else _dataclass_fields(cls)
    return ", ".join(f"`{field.name}{_default_of(field.default)}`" for field in named)


def _dataclass_fields(cls: Any) -> Iterable[Any]:
    return dataclasses.fields(cls)


def _default_of(value: object) -> str:
    return f"={value!r}" if isinstance(value, int | float | str) else ""


def is_value(cls: object) -> bool:
    return isinstance(cls, type) and (issubclass(cls, msgspec.Struct) or dataclasses.is_dataclass(cls))


def python_page() -> str:
    parts = ["# Python API", HEAD, "## `from leasehold import …`"]
    rows = [(f"`{name}`", _kind(getattr(leasehold, name)), _entry(leasehold, name)[1]) for name in _public()]
    parts.append(table(["name", "is", "meaning"], rows))
    parts += ["## `app = Leasehold(…)`", _app_table()]
    for title, cls, prefix in _handles():
        parts += [f"## {title}", table(["attribute", "meaning"], members(cls, prefix))]
    for name, title in PACKAGES.items():
        parts += [f"## {title}: `{name}`", _package_table(name)]
    return "\n".join(parts)


def _public() -> list[str]:
    return sorted(leasehold.__all__, key=str.lower)


def _kind(thing: object) -> str:
    if isinstance(thing, type):
        if issubclass(thing, errors.LeaseholdError):
            return "error"
        return "signal of a handler" if issubclass(thing, Exception) else "enum" if issubclass(thing, Enum) else "class"
    return "function" if callable(thing) else "constant"


def _app_table() -> str:
    rows = [(f"`Leasehold{signature(leasehold.Leasehold.__init__)}`", sentence(leasehold.Leasehold.__init__))]
    rows += members(leasehold.Leasehold, "app.")
    with opened() as app:
        for name, noun in vars(app).items():
            if not name.startswith("_") and type(noun).__module__.startswith("leasehold.app"):
                rows += members(type(noun), f"app.{name}.")
    return table(["call", "meaning"], rows)


@contextmanager
def opened() -> Iterator[leasehold.Leasehold]:
    with tempfile.TemporaryDirectory() as folder:
        app = leasehold.Leasehold(f"sqlite:///{folder}/reference.db")
        yield app
        app.close()


def a_handler() -> None: ...


def _handles() -> Iterator[tuple[str, type, str]]:
    with opened() as app:
        yield "`kind`: what `@app.job` makes", type(app.job(a_handler)), "kind."
        yield "`pipeline`: what `app.pipeline(…)` returns", type(app.pipeline("pipeline")), "pipeline."
    yield "`job`: what `submit` and `get` return", leasehold.Job, "job."
    yield "`task`: the argument of a handler", leasehold.Task, "task."
    yield "`held`: what `app.manual` leases", leasehold.Held, "held."


def _package_table(name: str) -> str:
    package = importlib.import_module(name)
    return table(["name", "meaning"], (_entry(package, public) for public in sorted(package.__all__, key=str.lower)))


def _entry(package: object, name: str) -> tuple[str, str]:
    thing = getattr(package, name)
    if isinstance(thing, type) and issubclass(thing, Enum):
        return f"`{name}`", f"{sentence(thing)} Values: {', '.join(f'`{item.value}`' for item in thing)}."
    if is_value(thing):
        return f"`{name}`", f"{sentence(thing)} Fields: {fields(thing)}."
    if inspect.isfunction(thing):
        return f"`{cell(name + signature(thing))}`", sentence(thing)
    return f"`{name}`", f"`{thing!r}`" if isinstance(thing, int | float | str) else sentence(thing)


def commands_page() -> str:
    parts = ["# Commands", HEAD]
    context = click.Context(root, info_name="leasehold")
    shared = next(item for item in root.params if item.name == "url")
    assert isinstance(shared, click.Option)
    parts += ["Every command takes `-h` and `--help`, and `--url` before or after its name:\n", f"> {shared.help}\n"]
    for name in root.list_commands(context):
        command = root.get_command(context, name)
        assert command is not None, name
        parts += _command(command, f"leasehold {name}", context)
    codes = [(str(code.value), cell(meaning)) for code, meaning in MEANINGS.items()]
    parts += ["## Exit codes", table(["code", "meaning"], codes)]
    locks = [(str(getattr(runlock, name)), f"`{name}`") for name in runlock.__all__ if name.startswith("EXIT_")]
    parts += [
        "## Exit codes of the run lock's command",
        table(["code", "name"], [*locks, ("64", "wrong command line")]),
    ]
    return "\n".join([*parts, "## Environment", _environment()])


def _command(command: click.Command, path: str, parent: click.Context) -> list[str]:
    context = click.Context(command, info_name=path.rsplit(" ", 1)[-1], parent=parent)
    arguments = " ".join(item.make_metavar(context) for item in command.params if isinstance(item, click.Argument))
    parts = [f"## `{path}`", _paragraph(command.help or ""), f"```\n{path} {arguments}".rstrip() + "\n```\n"]
    options = [item for item in command.params if isinstance(item, click.Option) and not _is_shared(item)]
    if options:
        parts.append(table(["option", "default", "meaning"], (_option(item, context) for item in options)))
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None, name
            parts += _command(found, f"{path} {name}", context)
    return parts


def _is_shared(option: click.Option) -> bool:
    return option.hidden or option.name == "url"


def _paragraph(text: str) -> str:
    kept = [part for part in text.split("\n\n") if not part.startswith("\b")]
    return "\n\n".join(" ".join(part.split()) for part in kept) + "\n"


def _option(option: click.Option, context: click.Context) -> tuple[str, str, str]:
    names = ", ".join([*option.opts, *option.secondary_opts])
    metavar = "" if option.is_flag or option.count else f" {option.make_metavar(context)}"
    shown = option.get_help_extra(context).get("default", "")
    default = "required" if option.required else f"`{cell(str(shown))}`" if shown != "" else ""
    return f"`{cell(names + metavar)}`", default, cell(option.help or "")


def _environment() -> str:
    return table(["variable", "meaning"], ((f"`{name}`", what) for name, what in ENVIRONMENT.items()))


def errors_page() -> str:
    parts = [
        "# Error codes",
        HEAD,
        "`error.code` is stable. The base class shows who must act; it decides the exit code.\n",
    ]
    rows = [
        (f"`{cls.code}`", f"`{cls.__name__}`", f"`{_base(cls)}`", str(int(exit_code_of(cls()))), sentence(cls))
        for cls in _error_classes()
    ]
    parts.append(table(["code", "class", "base", "exit", "message"], rows))
    parts.append(
        "A failed handler is not one of these errors. It is a *failure* with an `error_class`: see"
        " [failures](../failures.md).\n"
    )
    return "\n".join(parts)


def _error_classes() -> Iterator[type[errors.LeaseholdError]]:
    for thing in vars(errors).values():
        if isinstance(thing, type) and issubclass(thing, errors.LeaseholdError):
            yield thing


def _base(cls: type) -> str:
    bases = (errors.Misuse, errors.Overtaken, errors.Unavailable, errors.Broken)
    return next((base.__name__ for base in bases if issubclass(cls, base)), errors.LeaseholdError.__name__)


def events_page() -> str:
    parts = [
        "# Events",
        HEAD,
        "## Events of the journal\n",
        "Rows of the table `event`, one for each change of a task.\n",
    ]
    parts.append(table(["event", "meaning"], ((f"`{name.value}`", JOURNAL[name]) for name in EventName)))
    parts.append("## Log events\n")
    parts.append(
        "Lines of the logger `leasehold`, as `event key=value …`. A line holds names and numbers, no payloads.\n"
    )
    parts.append(table(["event", "level", "fields", "meaning"], log_events()))
    return "\n".join(parts)


def log_events() -> Iterator[tuple[str, str, str, str]]:
    """Find every call that logs in the one module that may."""
    tree = ast.parse(inspect.getsource(events))
    functions = {item.name: item for item in ast.walk(tree) if isinstance(item, ast.FunctionDef)}
    for function in functions.values():
        for call, level in _log_calls(function):
            shared = [keyword.value for keyword in call.keywords if keyword.arg is None]
            named = [keyword.arg for keyword in call.keywords if keyword.arg]
            keys = [*(key for item in shared for key in _shared_keys(item, function, functions)), *named]
            shown = ", ".join(f"`{key}`" for key in keys)
            for name in _event_names(call.args[0]):
                yield f"`{name}`", level, shown, LOG.get(name) or _why(function)


def _log_calls(function: ast.FunctionDef) -> Iterator[tuple[ast.Call, str]]:
    for call in ast.walk(function):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and _is_log(call.func):
            yield call, call.func.attr


def _is_log(function: ast.Attribute) -> bool:
    return isinstance(function.value, ast.Attribute) and function.value.attr.endswith("_log")


def _shared_keys(item: ast.expr, here: ast.FunctionDef, functions: dict[str, ast.FunctionDef]) -> list[str]:
    """Return the keys of a dictionary that is unpacked: made by a function, or by this one under a name."""
    where: ast.AST = here
    if isinstance(item, ast.Call) and isinstance(item.func, ast.Name):
        where = functions[item.func.id]
    found = next((node for node in ast.walk(where) if isinstance(node, ast.Dict)), None)
    return [str(key.value) for key in found.keys if isinstance(key, ast.Constant)] if found else []


def _event_names(node: ast.expr) -> list[str]:
    if isinstance(node, ast.JoinedStr):  # delivery_{status}
        text = "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        final = (DeliveryStatus.FAILED, DeliveryStatus.IN_DOUBT)
        return [text.replace("{}", status.value) for status in final]
    assert isinstance(node, ast.Constant)
    return [str(node.value)]


def _why(function: ast.FunctionDef) -> str:
    return cell(" ".join((ast.get_docstring(function) or "").split()))


def limits_page() -> str:
    parts = [
        "# Limits",
        HEAD,
        "Values outside these limits are refused with `OPTION_INVALID` or the error named there.\n",
    ]
    rows = [
        (f"`{name}`", f"`{value:,}`" if isinstance(value, int | float) else f"`{cell(value)}`")
        for name, value in vars(limits).items()
        if re.fullmatch(r"[A-Z][A-Z0-9_]+", name)
    ]
    parts.append(table(["limit", "value"], rows))
    return "\n".join(parts)


PAGES = {
    "python.md": python_page,
    "commands.md": commands_page,
    "errors.md": errors_page,
    "events.md": events_page,
    "limits.md": limits_page,
}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()

"""What still breaks a rule of the house, counted: `allowed.toml` holds it, and it only shrinks.

A rule counts its findings by what they are about. More than the list allows is a new offence; less means that the list
must shrink with it. `python -m tests.tidy.allowed` writes the list again from what the rules find, and prints what has
grown.
"""

import sys
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

LIST = Path(__file__).with_name("allowed.toml")
HEAD = "# What still breaks a rule of tests/tidy, and how often. These numbers only shrink: see allowed.py.\n"
Findings = Mapping[str, int]


def allowed(rule: str) -> dict[str, int]:
    return {str(name): int(count) for name, count in tomllib.loads(LIST.read_text()).get(rule, {}).items()}


def grown(found: Findings, allowance: Findings) -> dict[str, str]:
    """Return what is found more often than it is allowed."""
    return {
        name: f"{count}, and {allowance.get(name, 0)} are allowed"
        for name, count in sorted(found.items())
        if count > allowance.get(name, 0)
    }


def outdated(found: Findings, allowance: Findings) -> dict[str, str]:
    """Return what the list allows and nobody needs any more."""
    return {
        name: f"{found.get(name, 0)} are left of {count}: shrink tests/tidy/allowed.toml"
        for name, count in sorted(allowance.items())
        if found.get(name, 0) < count
    }


def check_allowed(rule: str, found: Findings) -> None:
    """Assert that the rule is broken only where the list allows it, and that the list allows no more than that."""
    assert grown(found, allowed(rule)) == {}
    assert outdated(found, allowed(rule)) == {}


def written(rules: Mapping[str, Findings]) -> str:
    """Return the list as a file."""
    parts = [HEAD]
    for rule, found in rules.items():
        lines = [f'"{name}" = {count}\n' for name, count in sorted(found.items()) if count]
        parts.append("".join([f"\n[{rule}]\n", *lines]))
    return "".join(parts)


def main() -> None:
    from tests.tidy import test_dialect, test_limits, test_names, test_rooms, test_twins

    rules: dict[str, Callable[[], Findings]] = {
        "rooms": test_rooms.full_rooms,
        "classes": test_names.repeated_classes,
        "limits": test_limits.scattered_waits,
        "functions": test_twins.twins,
        "glossary": test_dialect.repeated_rows,
        "dialect": test_dialect.dialect,
    }
    found = {rule: count() for rule, count in rules.items()}
    for rule, findings in found.items():
        for name, words in grown(findings, allowed(rule)).items():
            sys.stdout.write(f"{rule}: {name}: {words}\n")
    LIST.write_text(written(found))


if __name__ == "__main__":
    main()

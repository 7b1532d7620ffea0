"""The generated reference is complete and up to date."""

import ast
import inspect

import pytest

import leasehold
from tests.docs import reference
from tests.docs.descriptions import ATTRIBUTES, ENVIRONMENT, LOG


@pytest.mark.parametrize("name", reference.PAGES)
def test_a_page_of_the_reference_matches_the_code(name):
    written = (reference.FOLDER / name).read_text(encoding="utf-8")
    assert written == reference.PAGES[name](), f"docs/reference/{name} is out of date: run `make reference`"


@pytest.mark.parametrize("name", ATTRIBUTES)
def test_an_attribute_of_the_reference_exists(name):
    own = [one for one in getattr(leasehold, name).__mro__ if one.__module__.startswith("leasehold.")]
    source = "\n".join(map(inspect.getsource, own))
    known = {node.attr for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)}
    assert set(ATTRIBUTES[name]) - known == set()


def test_an_environment_variable_of_the_reference_is_read_by_the_code():
    source = "".join(path.read_text(encoding="utf-8") for path in (reference.ROOT / "src").rglob("*.py"))
    assert [name for name in ENVIRONMENT if f'"{name}"' not in source] == []


def test_every_event_that_is_logged_is_in_the_reference():
    named = [event for event, _, _, _ in reference.log_events()]
    assert len(named) == len(set(named))
    assert {f"`{event}`" for event in LOG} - set(named) == set()

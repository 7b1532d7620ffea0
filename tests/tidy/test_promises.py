"""Every promise has its proof: a test cites each invariant, and each place to crash has its own test."""

import ast
import re
from collections.abc import Iterator

from tests.tidy.tree import ROOT, Source, files, sample, sources

INVARIANTS = (
    "S1", "S2", "S3", "S4", "S5", "S6", "S7", "S8", "S9", "S10", "S11", "S12", "S13", "S14", "S15", "S16",
    "L1", "L2", "L3", "L4",
)  # fmt: skip
CRASH = re.compile(r"(?:#|--) crash here: (.+)")


def citations(source: Source) -> set[str]:
    return {cited for text in claims(source) for cited in INVARIANTS if cites(text, cited)}


def claims(source: Source) -> Iterator[str]:
    """Yield the names of a file's tests, and the docstrings of its tests and test classes."""
    for node in (*source.functions(), *source.classes()):
        if node.name.lower().startswith("test"):
            yield node.name
            yield ast.get_docstring(node) or ""


def cites(text: str, invariant: str) -> bool:
    return re.search(rf"(?<![a-z0-9]){invariant}(?![a-z0-9])", text, re.IGNORECASE) is not None


def slug(name: str) -> str:
    return re.sub(r"\W+", "_", name.strip().lower()).strip("_")


def crash_places(text: str) -> set[str]:
    return {slug(name) for name in CRASH.findall(text)}


def unproven(places: set[str], tests: set[str]) -> set[str]:
    return {place for place in places if not any(place in name for name in tests)}


def test_every_invariant_is_cited_by_a_test():
    assert citations(sample("def test_x():\n    '''S1: at most one live lease.'''\n")) == {"S1"}
    assert citations(sample("def test_s11_limits_hold(): ...\n")) == {"S11"}
    assert citations(sample("def keep():\n    '''S1'''\n")) == set()
    engine = [source for source in sources("tests") if not source.path.is_relative_to("tests/tidy")]
    cited = set().union(*(citations(source) for source in engine))
    assert set(INVARIANTS) - cited == set()


def test_every_place_to_crash_has_a_test_of_its_name():
    assert crash_places("x()  # crash here: after the claim, before the run.\n") == {"after_the_claim_before_the_run"}
    assert unproven({"after_the_claim"}, {"test_a_kill_before_the_claim"}) == {"after_the_claim"}
    assert unproven({"after_the_claim"}, {"test_a_kill_after_the_claim_is_healed"}) == set()
    texts = [(ROOT / path).read_text() for path in files() if path.is_relative_to("src")]
    places = set().union(*(crash_places(text) for text in texts))
    homes = ("tests/crash", "tests/pipelines", "tests/runlock")
    tests = {function.name for home in homes for source in sources(home) for function in source.functions()}
    assert places
    assert unproven(places, tests) == set()

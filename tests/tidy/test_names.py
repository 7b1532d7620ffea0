"""Names say what a thing is: none that could stand for anything, and no abbreviations of them."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from tests.tidy.allowed import check_allowed
from tests.tidy.tree import Source, findings, sample, sources

SHUNNED = {
    "manager", "mgr", "helper", "util", "utility", "common", "service", "processor", "data", "info", "misc",
    "cfg", "ctx",
}  # fmt: skip


def shunned_names(source: Source) -> Iterator[str]:
    for name in (*source.path.parent.parts, source.path.stem):
        if shunned := shunned_words(name):
            yield f"{source.path}: {name} is called {shunned}"
    for node in (*source.classes(), *source.functions()):
        is_sentence = node.name.startswith("test_")
        if not is_sentence and (shunned := shunned_words(node.name)):
            yield source.at(node, f"{node.name} is called {shunned}")


def shunned_words(name: str) -> str:
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)
    singular = {re.sub(r"ies$", "y", word.lower()).removesuffix("s") for word in words}
    whole = {word.lower() for word in words}
    return ", ".join(sorted((singular | whole) & SHUNNED))


def repeated(among: Iterable[Source]) -> Counter[str]:
    """Count the classes that have a name which another has; those of one module alone are excepted."""
    named = Counter(klass.name for source in among for klass in source.classes() if not klass.name.startswith("_"))
    return Counter({name: count for name, count in named.items() if count > 1})


def repeated_classes() -> Counter[str]:
    return repeated(sources("src"))


def test_no_file_class_or_function_has_a_name_that_fits_anything():
    assert list(shunned_names(sample("class TaskManager: ...\n")))
    assert list(shunned_names(sample("def load_data(): ...\n")))
    assert list(shunned_names(sample("x = 1\n", path="src/leasehold/utils.py")))
    assert list(shunned_names(sample("x = 1\n", path="src/leasehold/services/mail.py")))
    assert not list(shunned_names(sample("def handler(): ...\nclass Metadata: ...\ndef informed(): ...\n")))
    assert findings(shunned_names, sources()) == []


def test_a_class_name_occurs_once():
    assert repeated([sample("class Report: ...\n"), sample("class Report: ...\n")]) == {"Report": 2}
    assert not repeated([sample("class _Report: ...\n"), sample("class _Report: ...\nclass Report: ...\n")])
    check_allowed("classes", repeated_classes())

"""Documents are short and true: what they name exists, and nothing in the tree tells where it was made."""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.tidy.tree import ROOT, files, sources

LINES_MAX = {"README.md": 150, "ARCHITECTURE.md": 300}
SPINE_LINES_MAX = 900
SPINE = re.compile(r"<!-- spine -->(.*?)<!-- /spine -->", re.DOTALL)
SPINE_FILE = re.compile(r"(?:src|tests|examples)/[\w/.-]+\.(?:py|sql)")
LINK = re.compile(r"\]\((?![a-z]+:|#)([^)#\s]+)(?:#[^)]*)?\)")
TEST_NAME = re.compile(r"\btest_[a-z0-9_]+\b(?!\.py)")
UNFINISHED = re.compile(r"\b(TODO|FIXME|XXX)\b")
# Paths of somebody's machine, and hosts of package registries: neither belongs in what others read.
OF_ONE_MACHINE = re.compile(
    r"(?<![\w.~*/-])/(?:work|root|home|Users)/"
    r"|\bpypi\.org\b|pythonhosted\.org|registry\.npmjs|(?<!emit-)\bindex-url\b"
    r"|https?://[^\s/]*/simple\b"
)
BINARY = {".png", ".jpg", ".gif", ".ico", ".woff2", ".gz", ".zip", ".db"}
THIS_FILE = Path(__file__).relative_to(ROOT)


def texts() -> Iterator[tuple[Path, str]]:
    for path in files():
        if path.suffix not in BINARY and path != THIS_FILE:
            yield path, (ROOT / path).read_text()


def hits(pattern: re.Pattern[str], path: Path, text: str) -> list[str]:
    return [f"{path}: {found.group()}" for found in pattern.finditer(text)]


def spine(architecture: str) -> list[str]:
    marked = SPINE.search(architecture)
    return list(dict.fromkeys(SPINE_FILE.findall(marked[1]))) if marked else []


def broken_links(path: Path, text: str) -> list[str]:
    targets = (ROOT / path.parent / target for target in LINK.findall(text))
    return [f"{path}: {target.name}" for target in targets if not target.exists()]


def document(name: str) -> str:
    return (ROOT / name).read_text()


def test_readme_and_architecture_keep_their_length():
    lines = {name: len(document(name).splitlines()) for name in LINES_MAX}
    assert {name: count for name, count in lines.items() if count > LINES_MAX[name]} == {}


def test_the_spine_can_be_read_in_half_an_hour():
    assert spine("<!-- spine -->\n1. `src/leasehold/app.py`\n<!-- /spine -->") == ["src/leasehold/app.py"]
    listed = spine(document("ARCHITECTURE.md"))
    assert len(listed) >= 3
    assert sum(len(document(name).splitlines()) for name in listed) <= SPINE_LINES_MAX


def test_every_test_that_a_document_names_exists():
    known = {function.name for source in sources("tests") for function in source.functions()}
    known |= {source.path.stem for source in sources("tests")}
    named = {name for path, text in texts() if path.suffix == ".md" for name in TEST_NAME.findall(text)}
    assert named - known == set()


def test_every_link_between_documents_leads_somewhere():
    assert broken_links(Path("README.md"), "[a](nowhere.md#part)") == ["README.md: nowhere.md"]
    assert broken_links(Path("README.md"), "[a](LICENSE) [b](https://example.org/x) [c](#d)") == []
    assert [link for path, text in texts() if path.suffix == ".md" for link in broken_links(path, text)] == []


def test_nothing_is_left_unfinished_in_the_tree():
    assert hits(UNFINISHED, Path("x"), "# TODO: later")
    assert not hits(UNFINISHED, Path("x"), "mktemp leasehold-XXXXXX")
    assert [hit for path, text in texts() for hit in hits(UNFINISHED, path, text)] == []


def test_no_file_tells_on_which_machine_it_was_made():
    for bad in ("see /work/main", "/root/.venv", "https://pypi.org/simple", "--index-url x"):
        assert hits(OF_ONE_MACHINE, Path("x"), bad)
    for good in ("src/work/x", "make run", "--no-emit-index-url", "~/work/x"):
        assert not hits(OF_ONE_MACHINE, Path("x"), good)
    assert [hit for path, text in texts() for hit in hits(OF_ONE_MACHINE, path, text)] == []

"""The house speaks plain technical English: its old dialect leaves names, prose and the subjects of new commits."""

import re
import subprocess
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path

from tests.tidy.allowed import check_allowed, grown, outdated
from tests.tidy.tree import ROOT, Source, files, sample, sources
from tests.tidy.words import dialect_in_name, dialect_in_prose, may_use_dialect, names_of, prose_of

# The subjects of later commits keep the rule.
SINCE = "311268c"
AREAS = ("src", "tests", "bench", "examples")
ROW = re.compile(r"^\| ([^|]+?) \|", re.MULTILINE)
HEADINGS = {"word", "---"}
Git = Callable[..., str | None]


def in_code(area: str, among: Iterable[Source]) -> Counter[str]:
    """Count in how many files each word stands in a name, and in how many it stands in prose."""
    found: Counter[str] = Counter()
    for source in among:
        if not may_use_dialect(source):
            continue
        names = {word for name in names_of(source) for word in dialect_in_name(name)}
        prose = {word for text in prose_of(source) for word in dialect_in_prose(text)}
        found.update(f"names in {area}: {word}" for word in names)
        found.update(f"prose in {area}: {word}" for word in prose)
    return found


def in_documents() -> Counter[str]:
    # The documents under tests are texts to translate, by other authors.
    documents = [path for path in files() if path.suffix == ".md" and path.parts[0] != "tests"]
    return Counter(f"{path}: {word}" for path in documents for word in dialect_in_prose((ROOT / path).read_text()))


def dialect() -> Counter[str]:
    found = in_documents()
    for area in AREAS:
        found += in_code(area, [source for source in sources(area) if not source.path.is_relative_to("tests/tidy")])
    return found


def git_in(folder: Path) -> Git:
    """Return what asks git about the repository of a folder; the answer is None where git has none."""

    def ask(*words: str) -> str | None:
        try:
            done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=False)  # noqa: S607
        except FileNotFoundError:
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    return ask


def new_subjects(git: Git) -> list[str]:
    """Return the subjects of commits after `SINCE`. A shallow clone without it has only later ones."""
    if git("cat-file", "-e", f"{SINCE}^{{commit}}") is not None:
        listed = git("log", "--format=%s", f"{SINCE}..HEAD")
    elif git("rev-parse", "--is-shallow-repository") == "true":
        listed = git("log", "--format=%s")
    else:
        listed = None  # an unpacked archive, or another history
    return (listed or "").splitlines()


def repeated_words(glossary: str) -> Counter[str]:
    """Count the rows of each word that has more than one."""
    rows = [row for row in ROW.findall(glossary) if row not in HEADINGS]
    counted = Counter(word.strip(" `").lower() for row in rows for word in row.split(","))
    return Counter({word: count for word, count in counted.items() if count > 1})


def repeated_rows() -> Counter[str]:
    return repeated_words((ROOT / "docs/glossary.md").read_text())


def test_a_list_of_what_is_allowed_only_shrinks():
    assert grown({"a": 2, "b": 1}, {"a": 2}).keys() == {"b"}
    assert grown({"a": 3}, {"a": 2}).keys() == {"a"}
    assert outdated({"a": 1}, {"a": 2, "b": 1}).keys() == {"a", "b"}
    assert not grown({"a": 2}, {"a": 2})
    assert not outdated({"a": 2}, {"a": 2})


def test_words_of_the_dialect_are_found_in_names_and_in_prose():
    assert dialect_in_name("_told") == dialect_in_name("toldPace") == {"told"}
    assert dialect_in_name("NudgedWorker") == {"nudge"}
    assert dialect_in_name("Shelves") == {"shelve"}
    assert not dialect_in_name("open_pending_years_essay_early")
    assert dialect_in_prose("Whoever waits is told") == {"whoever", "told"}
    assert dialect_in_prose("as it\ncomes") == {"as it comes"}
    assert not dialect_in_prose("the column `told` and a depending essay")
    assert not dialect_in_prose("lo pensó")


def test_no_name_and_no_prose_uses_the_dialect():
    bad = sample('"""Tell it."""\ndef heed(wish):\n    raise ValueError("nobody said so")  # anew\n')
    assert in_code("src", [bad]) == {
        **dict.fromkeys(("names in src: heed", "names in src: wish"), 1),
        **dict.fromkeys(("prose in src: tell", "prose in src: said", "prose in src: anew"), 1),
    }
    check_allowed("dialect", dialect())


def test_the_subjects_of_new_commits_use_plain_words(tmp_path):
    assert dialect_in_prose("Tell of renewing in place") == {"tell"}
    assert new_subjects(git_in(tmp_path)) == []
    git = git_in(tmp_path)
    git("init", "--quiet")
    (tmp_path / "a").write_text("a")
    git("add", "a")
    git("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "--message", "Tell it anew")
    assert new_subjects(git) == []
    subprocess.run(["git", "clone", "--quiet", "--depth", "1", tmp_path.as_uri(), tmp_path / "shallow"], check=True)  # noqa: S607
    assert new_subjects(git_in(tmp_path / "shallow")) == ["Tell it anew"]
    assert [subject for subject in new_subjects(git_in(ROOT)) if dialect_in_prose(subject)] == []


def test_a_word_of_the_glossary_has_one_row():
    assert repeated_words("| word | meaning |\n| --- | --- |\n| lease | a |\n| fence, lease | b |\n") == {"lease": 2}
    assert not repeated_words("| lease | a |\n| fence | b |\n\n| word | meaning |\n| --- | --- |\n| claim | a |\n")
    check_allowed("glossary", repeated_rows())

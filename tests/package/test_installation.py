"""The wheel as people install it: into an empty environment, without extras and with each alone, on every Python."""

import signal
import tomllib

import pytest

from tests.docs.test_documents import BLOCK, PRINTED
from tests.package.environments import OTHERS, THIS, Environment, build_wheel, python_part
from tests.support.processes.fork_server import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = sorted(PROJECT["optional-dependencies"])
GUIDES = {name: (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/tutorial.md")}
NOT_INSTALLED = "Not installed; run: pip install 'leasehold[translate]'"
EVERY_HELP = """
import click
from leasehold.cli.root import root

def walk(group, *words):
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        yield [*words, name]
        if isinstance(command, click.Group):
            yield from walk(command, *words, name)

for words in [[], *walk(root)]:
    root([*words, "--help"], prog_name="leasehold", standalone_mode=False)
"""
# Each block is a process of its own, with a database of its own; they share the import of the engine.
EVERY_BLOCK = """
import os, runpy, sys
import leasehold.cli.root
from leasehold import Leasehold

for block in sys.argv[1:]:
    if os.fork() == 0:
        with open(block + ".out", "w") as sys.stdout:
            os.environ["LEASEHOLD_URL"] = "sqlite:///" + block + ".db"
            sys.argv = [block]
            runpy.run_path(block, run_name="__main__")
        sys.exit()
    assert os.wait()[1] == 0, block
"""


@pytest.fixture(scope="session")
def wheel(tmp_path_factory):
    return build_wheel(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def install(tmp_path, home, wheel):
    return lambda version, *extras: Environment(tmp_path, home, wheel, version, *extras)


def check_helps(environment):
    """Check what every command prints, and return the first page."""
    shown = environment.leasehold("--help")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "\n  worker " in shown.stdout
    helps = environment.python("-c", EVERY_HELP)
    assert (helps.returncode, helps.stderr) == (0, "")
    assert helps.stdout.count("Usage: leasehold ") > 40
    return shown.stdout


def check_guides(environment):
    blocks = {}
    for name, text in GUIDES.items():
        for number, block in enumerate(BLOCK.findall(text)):
            path = environment.folder / f"{name.replace('/', '-')}-{number}.py"
            path.write_text(block, encoding="utf-8")
            blocks[path] = block
    ran = environment.python("-c", EVERY_BLOCK, *blocks)
    assert ran.returncode == 0, ran.stderr
    for path, block in blocks.items():
        assert path.with_name(f"{path.name}.out").read_text().splitlines() == PRINTED.findall(block)


def check_session(environment):
    """The commands of the guide, with its first block as the app."""
    (environment.folder / "shop.py").write_text(BLOCK.findall(GUIDES["docs/tutorial.md"])[0], encoding="utf-8")
    assert environment.leasehold("migrate").returncode == 0
    worker = environment.start("worker", "shop:app")
    try:
        done = environment.leasehold("submit", "render", '{"frames": 0}', "--app", "shop:app", "--wait")
        assert done.stdout.endswith('DONE {"attempt": 1, "frames": 0}\n'), done.stderr
        assert environment.leasehold("show", "1").stdout.startswith("job 1  render  DONE\n")
    finally:
        worker.send_signal(signal.SIGTERM)
        assert worker.wait() == 0


def check_missing_extras(environment):
    for words, message in [
        (["translate", "a.md", "--from", "en", "--to", "es"], "pip install 'leasehold[translate]'"),
        (["jobs", "--url", "postgresql://localhost/shop"], "pip install 'leasehold[postgres]'"),
        (["contracts", "check", "."], "pip install 'leasehold[contracts]'"),
        (["agents", "serve"], "pip install 'leasehold[agents]'"),
    ]:
        (environment.folder / "a.md").write_text("Hello.")
        refused = environment.leasehold(*words)
        assert refused.returncode == 2
        assert refused.stderr.startswith("error ")
        assert message in refused.stderr
        assert refused.stderr.count("\n") == 1
    in_python = environment.python("-c", "from leasehold.pipelines import translate; translate.run")
    assert in_python.stderr.splitlines()[-1].endswith("run: pip install 'leasehold[translate]'.")


@pytest.mark.parametrize("version", [pytest.param(THIS, id=THIS), *(python_part(one).param(one) for one in OTHERS)])
def test_without_extras_every_help_the_readme_and_the_guide_work_and_missing_extras_are_named(install, version):
    environment = install(version)
    assert NOT_INSTALLED in check_helps(environment)
    bare = environment.leasehold()
    assert "Traceback" not in bare.stderr
    assert "\n  worker " in bare.stdout + bare.stderr
    check_guides(environment)
    check_session(environment)
    check_missing_extras(environment)


@pytest.mark.parametrize("extra", EXTRAS)
def test_with_one_extra_alone_every_help_the_readme_and_the_guide_work(install, extra):
    environment = install(THIS, extra)
    assert (NOT_INSTALLED in check_helps(environment)) == (extra != "translate")
    check_guides(environment)


@pytest.mark.parametrize("version", [python_part(one).param(one) for one in OTHERS])
def test_with_every_extra_every_help_the_readme_and_the_guide_work_on_other_pythons(install, version):
    environment = install(version, *EXTRAS)
    check_helps(environment)
    check_guides(environment)


@pytest.mark.soak
@pytest.mark.parametrize("extra", EXTRAS)
@pytest.mark.parametrize("version", [python_part(one).param(one) for one in OTHERS])
def test_with_one_extra_alone_every_help_and_guide_work_on_other_pythons(install, version, extra):
    environment = install(version, extra)
    check_helps(environment)
    check_guides(environment)


def test_the_metadata_and_the_readme_state_the_systems():
    systems = [name for name in PROJECT["classifiers"] if name.startswith("Operating System")]
    assert systems == ["Operating System :: MacOS", "Operating System :: POSIX :: Linux"]
    assert "Windows is not supported" in GUIDES["README.md"]
    assert "Windows is not supported" in PROJECT["description"]

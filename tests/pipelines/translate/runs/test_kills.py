"""Workers that are killed again and again: the document is the same in the end, and no answer was asked for twice."""

import json
import os
import random
from collections import Counter
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from leasehold.contracts import check_run
from leasehold.pipelines.translate.export import project
from leasehold.pipelines.translate.planning import plan
from tests.pipelines.translate.orders import make_order, planned_run, run_here
from tests.support.db import check_journal, check_places, connected
from tests.support.needs import APERTIUM
from tests.support.processes.fork_server import start_module
from tests.support.wait import until

CHAPTER = Path(__file__).parents[1] / "chapter" / "chapter.md"
STEPS = (2, 32)  # lines of the journal between two kills
PARTS = [(8, 170), pytest.param((50, 820), marks=pytest.mark.soak)]  # kills, and lines of the chapter


class KilledWorkers:
    """Workers of a run, one after the other, watched on one connection."""

    def __init__(self, toolchain):
        self._leaving = ExitStack()
        self._watch = self._leaving.enter_context(connected(toolchain.settings.database))
        self._environment = {**os.environ, **toolchain.settings.environment()}

    def start(self):
        """Start the next worker."""
        worker = start_module("tests.pipelines.translate.worker", env=self._environment)
        self._leaving.callback(worker.wait)
        self._leaving.callback(worker.kill)
        return worker

    def lines(self):
        return self._rows("SELECT coalesce(max(id), 0) FROM event")[0][0]

    def is_over(self):
        return not self._rows("SELECT 1 FROM task WHERE id NOT IN (SELECT task_id FROM outcome) LIMIT 1")

    def _rows(self, statement):
        return list(self._watch.execute(statement))

    def close(self):
        self._leaving.close()


def work_and_die(workers, dice):
    """Have a worker killed after some lines of the journal, wherever it is then; False if all was done before."""
    worker = workers.start()
    goal = workers.lines() + dice.randint(*STEPS)
    until(lambda: workers.lines() >= goal or workers.is_over(), timeout=300, every=0.002)
    worker.kill()
    worker.wait(timeout=60)
    return not workers.is_over()


def finish(workers, toolchain, document):
    """Run as the same command does until it has nothing to bring back: what six workers died with is given up (S12).

    The last of six deaths is counted by the worker that comes after it, so one more round may be needed.
    """
    while plan(toolchain, document).revived or not workers.is_over():
        worker = workers.start()
        until(workers.is_over, timeout=300)
        worker.terminate()
        worker.wait(timeout=60)


def answers_of(order):
    lines = (order.folder / ".leasehold" / "answers.jsonl").read_text().splitlines()
    return Counter(json.loads(line)["key"] for line in lines)


@pytest.fixture(scope="module", params=PARTS, ids=lambda part: f"{part[0]} kills")
def part(request):
    return request.param


@pytest.fixture(scope="module", params=[APERTIUM.param("apertium")])
def calm(request, part, tmp_path_factory):
    """The order of a run that nobody disturbed, which no database makes another: one for all."""
    folder = tmp_path_factory.mktemp("calm")
    document = folder / CHAPTER.name
    document.write_text("".join(CHAPTER.read_text().splitlines(keepends=True)[: part[1]]))
    order = make_order(folder, document, translator=request.param, is_unattended=True)
    run_here(order)
    return order


@pytest.mark.early
def test_s4_kills_change_no_byte_of_the_document_and_no_answer_is_asked_for_twice(part, calm, database, tmp_path):
    """What a translator was cut off in before it had answered is asked again; an answer that came is never lost."""
    order = make_order(tmp_path, calm.document, database, translator=calm.options.translator, is_unattended=True)
    dice = random.Random(2026)
    with planned_run(order) as (toolchain, document), closing(KilledWorkers(toolchain)) as workers:
        killed = sum(work_and_die(workers, dice) for _ in range(part[0]))
        finish(workers, toolchain, document)
        histories = project(toolchain, document)
    assert killed == part[0], "it was done before all kills were"
    assert {history.state for history in histories} == {"approved", "rejected"}
    assert order_final(order).read_bytes() == order_final(calm).read_bytes()
    answers = answers_of(order)
    assert set(answers.values()) == {1}
    assert len(answers) == sum(len(history.tries) for history in histories)
    assert check_run(order.folder).ok
    check_places(toolchain.settings.database)
    check_journal(toolchain.settings.database)


def order_final(order):
    return order.folder / "final" / CHAPTER.name

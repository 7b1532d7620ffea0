"""`deliveries` and `relay`: what operators see of the outbox, and how they answer."""

import json
import signal

import pytest

from leasehold.cli.options import ExitCode
from leasehold.store.audit import system_user
from tests.support.apps.deliveries import change, post, write
from tests.support.wait import until


@pytest.fixture
def ids(app):
    """Three deliveries: pending, in doubt, failed."""
    made = write(app.store, *(post(f"{name}@example.org") for name in ("ada", "bob", "eve")))
    doubt = '{"error_class":"DELIVERY_IN_DOUBT","message":"nobody knows"}'
    change(app.store, made[1], f"status = 'in_doubt', due_at = NULL, failure = '{doubt}'")
    change(app.store, made[2], "status = 'failed', due_at = NULL")
    return made


def found(result):
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_deliveries_are_listed_newest_first_and_filtered(command, ids):
    assert [one["id"] for one in found(command("deliveries", "list", "--json"))] == ids[::-1]
    assert [one["id"] for one in found(command("deliveries", "--json"))] == ids[::-1]
    assert [one["id"] for one in found(command("deliveries", "list", "--status", "in_doubt", "--json"))] == [ids[1]]
    page = command("deliveries", "list", "--subject", "change-17", "--limit", 1, "--before", ids[2], "--json")
    assert [one["id"] for one in found(page)] == [ids[1]]


def test_the_list_for_people_shows_what_waits_for_them_and_what_nobody_sends(app, command, ids):
    change(app.store, ids[0], "due_at = 1")
    result = command("deliveries")
    head, *lines = result.stdout.splitlines()
    assert head.split()[:4] == ["ID", "STATUS", "SUBJECT", "RECIPIENT"]
    assert "DELIVERY_IN_DOUBT: nobody knows" in lines[1]
    assert "no relay seems to have it" in result.stderr


def test_one_delivery_is_shown_with_its_message_and_the_answers_given(command, ids):
    command("deliveries", "answer", ids[1], "--sent", "--notification-id", "4XyZ", "--notes", "in the log")
    shown = command("deliveries", "show", ids[1]).stdout
    assert f"delivery {ids[1]}  sent" in shown
    assert "id there   4XyZ" in shown
    assert f"answered   sent, by {system_user()} at " in shown
    assert "Review of change 17" in shown
    plain = found(command("deliveries", "show", ids[1], "--json"))
    assert [one["notes"] for one in plain["answers"]] == ["in the log"]
    assert plain["message"]["title"] == "Review of change 17"


def test_one_delivery_is_shown_with_its_first_doubt_and_who_had_it_looked_up(app, command, ids):
    first = '{"error_class":"DELIVERY_MAY_BE_SENT","message":"cut off"}'
    doubt = f'{{"error_class":"DELIVERY_IN_DOUBT","message":"does not know","first_doubt":{first}}}'
    change(app.store, ids[1], f"failure = '{doubt}'")
    app.store.deliveries.reconcile(["mail"], "ada", ids[1])
    shown = command("deliveries", "show", ids[1]).stdout
    assert "  failure    DELIVERY_IN_DOUBT: does not know\n  doubt      DELIVERY_MAY_BE_SENT: cut off\n" in shown
    assert "  looked up  by ada at " in shown
    assert "answered" not in shown
    plain = found(command("deliveries", "show", ids[1], "--json"))
    assert (plain["answers"], [one["action"] for one in plain["audit"]]) == ([], ["reconcile"])


def test_an_answer_is_given_once_and_only_where_one_is_waited_for(command, ids):
    assert command("deliveries", "answer", ids[2], "--not-sent").stdout == f"delivery {ids[2]} is pending\n"
    answered = found(command("deliveries", "answer", ids[1], "--sent", "--json"))
    assert answered["notification_id"].startswith("confirmed by ")
    refused = command("deliveries", "answer", ids[1], "--not-sent")
    assert (refused.exit_code, refused.stderr.startswith("error DELIVERY_SETTLED:")) == (ExitCode.OVERTAKEN, True)
    for words in ([], ["--not-sent", "--notification-id", "x"]):
        assert command("deliveries", "answer", ids[1], *words).exit_code == ExitCode.MISUSE
    assert command("deliveries", "show", 99).exit_code == ExitCode.MISUSE


@pytest.mark.parametrize("words", [(), ("--sent", "--not-sent"), ("--not-sent", "--sent")], ids=str)
def test_an_answer_is_either_sent_or_not_sent(app, command, ids, words):
    refused = command("deliveries", "answer", ids[1], *words)
    assert (refused.exit_code, "either --sent or --not-sent" in refused.stderr) == (ExitCode.MISUSE, True)
    assert app.deliveries.get(ids[1]).status == "in_doubt"


APP = """
from leasehold import Leasehold
from leasehold.providers import Folder

app = Leasehold()
app.deliveries.provider("mail", Folder("letters"))
bare = Leasehold()
"""


@pytest.fixture
def shop(processes, tmp_path):
    """A folder with the module `shop`, whose app has a provider."""
    (tmp_path / "shop.py").write_text(APP)
    return {"cwd": tmp_path}


def test_a_relay_sends_until_a_signal_and_reconcile_asks_the_providers(app, ids, processes, shop, tmp_path):
    other = processes.run("deliveries", "reconcile", "shop:app", ids[0], **shop)
    assert (other.returncode, other.stdout, app.deliveries.get(ids[1]).status) == (0, "0 look-ups done\n", "in_doubt")
    looked = processes.run("deliveries", "reconcile", "shop:app", "--json", **shop)
    assert [(one["id"], one["status"]) for one in json.loads(looked.stdout)] == [(ids[1], "pending")]
    assert [line.principal for line in app.store.audit.list("delivery", ids[1])] == [system_user()]
    relay = processes.start("relay", "shop:app", **shop)
    until(lambda: [app.deliveries.get(one).status.value for one in ids] == ["sent", "sent", "failed"])
    relay.signal(signal.SIGTERM)
    assert relay.end() == 0
    assert len(list((tmp_path / "letters").iterdir())) == 2
    again = processes.run("deliveries", "reconcile", "shop:app", ids[0], **shop)
    assert (again.returncode, again.stdout) == (0, "0 look-ups done\n")
    assert processes.run("relay", "shop:bare", **shop).returncode == ExitCode.MISUSE


def test_the_doctor_reports_deliveries_in_doubt_and_those_nobody_sends(app, command, ids):
    def finding():
        return {one["name"]: one for one in json.loads(command("doctor", "--json").stdout)}["deliveries"]

    assert (finding()["grade"], finding()["text"]) == ("warn", "1 in doubt, 1 failed")
    change(app.store, ids[0], "due_at = 1")
    assert finding()["grade"] == "wrong"
    assert "leasehold relay" in finding()["advice"]

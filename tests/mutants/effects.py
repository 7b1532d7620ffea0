"""Mutants of what reaches the outside world: the ledger of effects, dead letters, the outbox."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import POSTGRES, SQLITE, Mutant

POINTS = "tests/simulation/test_crash_points.py"
LEDGER = "tests/store/test_ledger.py"
EFFECTS = "tests/runtime/effects/test_effects.py"
AHEAD = "tests/runtime/effects/test_pending_records.py"
TURNS = "tests/runtime/commit/test_writers_turn.py"
REVIVAL = "tests/store/deadletters/test_revival.py"
DELIVERIES = "tests/store/test_deliveries.py"
SWEEPER = "tests/runtime/maintain/test_sweeper.py"
RELAY = "tests/runtime/deliver/test_relay.py"
DOUBT = "tests/runtime/deliver/test_relay_doubt.py"

MUTANTS: Final = (
    Mutant(
        "SQLite: a stale attempt starts an effect",
        f"{SQLITE}/effects/enter.sql",
        "LEFT JOIN main.effect ON effect.job_id = item.value ->> 'job_id' AND effect.key = item.value ->> 'key'\n"
        "WHERE lease.expires_at > leasehold_now();",
        "LEFT JOIN main.effect ON effect.job_id = item.value ->> 'job_id' AND effect.key = item.value ->> 'key';",
        (f"{LEDGER}::test_s2_an_attempt_whose_lease_expired_can_neither_start_an_effect_nor_record_one[sqlite]",),
    ),
    Mutant(
        "PostgreSQL: a zombie records an effect",
        f"{POSTGRES}/effects/enter.sql",
        "JOIN standing ON standing.task_id = record.task_id AND standing.fence = record.fence",
        "JOIN standing ON standing.task_id = record.task_id",
        (f"{LEDGER}::test_s2_a_zombie_can_neither_start_an_effect_nor_record_one[postgres]",),
    ),
    Mutant(
        "an intent without a result is acted upon again",
        f"{SQLITE}/effects/enter.sql",
        "THEN 'act' ELSE 'doubt' END",
        "THEN 'act' ELSE 'act' END",
        (f"{LEDGER}::test_an_intent_of_an_earlier_attempt_without_a_result_is_in_doubt[sqlite]", POINTS),
    ),
    Mutant(
        "a recorded result is written over",
        f"{POSTGRES}/effects/enter.sql",
        "WHERE effect.job_id = ended.job_id AND effect.key = ended.key AND effect.result IS NULL\n)\nSELECT",
        "WHERE effect.job_id = ended.job_id AND effect.key = ended.key\n)\nSELECT",
        (f"{LEDGER}::test_s4_a_result_is_recorded_once_and_its_bytes_never_change[postgres]",),
    ),
    Mutant(
        "what is in doubt is simply done again",
        "runtime/effects/effects.py",
        "        raise _doubt(run.intent)\n",
        "        return None\n",
        (f"{EFFECTS}::test_an_act_that_does_not_know_its_result_leaves_its_effect_in_doubt[sqlite]", POINTS),
    ),
    Mutant(
        "the end of an attempt overtakes the records that it went ahead of",
        "runtime/attempt.py",
        "            await self.task.effects.finish()\n",
        "",
        (f"{AHEAD}::test_the_end_of_an_attempt_does_not_overtake_its_records_however_many_there_are",),
    ),
    Mutant(
        "the end of a failed attempt overtakes the records that it went ahead of",
        "runtime/attempt.py",
        "                await self.task.effects.abandon()\n",
        "                pass\n",
        (f"{AHEAD}::test_the_end_of_an_attempt_does_not_overtake_its_records_however_many_there_are",),
    ),
    Mutant(
        "entries and ends of one turn are committed apart",
        "runtime/commit/committer.py",
        "if batch.requests and self._ends and self._store.database.dialect.single_writer:",
        "if False:",
        (f"{TURNS}::test_entries_and_ends_are_one_transaction",),
    ),
    Mutant(
        "what comes while a writer waits for its turn is left for the next",
        "store/effects.py",
        "            if on_write_lock is not None and self._database.dialect.single_writer:\n"
        "                on_write_lock()\n",
        "",
        (f"{TURNS}::test_entries_that_come_while_a_group_waits_for_its_turn_are_committed_with_it",),
    ),
    Mutant(
        "a handler may swallow a doubt",
        "runtime/ending.py",
        "if isinstance(used, EffectInDoubt):",
        "if isinstance(used, EffectInDoubt) and (used := None):",
        (f"{EFFECTS}::test_an_effect_in_doubt_that_a_handler_swallows_still_waits_for_a_person",),
    ),
    Mutant(
        "an effect whose intent was refused is done all the same",
        "runtime/commit/committer.py",
        "found.get(request.identity) or self._lost(request)",
        'found.get(request.identity) or __import__("leasehold.model.effect", fromlist=["Entry"])'
        '.Entry(*request.identity, "act", None)',
        (f"{EFFECTS}::test_s2_an_effect_of_a_zombie_is_refused[sqlite]",),
    ),
    Mutant(
        "a revival goes on in the old epoch",
        f"{POSTGRES}/deadletters/revive.sql",
        "0, linked.fence,\n            linked.epoch + 1,\n",
        "0, linked.fence,\n            linked.epoch,\n",
        (f"{REVIVAL}::test_s5_a_revival_moves_the_old_outcome_as_it_is_and_settles_a_new_epoch[postgres]",),
    ),
    Mutant(
        "a revival does not keep orchestrators out",
        f"{POSTGRES}/deadletters/revive_lock.sql",
        "SELECT pg_advisory_xact_lock(4774451407313060419)",
        "SELECT 1",
        (f"{REVIVAL}::test_l1_an_orchestrator_waits_for_a_revival_that_is_under_way",),
    ),
    Mutant(
        "a revival without evidence",
        "model/revival.py",
        "    if not case.evidenced:\n",
        "    if False:\n",
        ("tests/model/test_revival.py",),
    ),
    Mutant(
        "an old outcome is forgotten by a revival",
        f"{SQLITE}/deadletters/revive.sql",
        "FROM main.outcome WHERE outcome.task_id IN (SELECT task_id FROM temp.leasehold_revived);\n\nDELETE",
        "FROM main.outcome WHERE false;\n\nDELETE",
        (f"{REVIVAL}::test_s5_a_revival_moves_the_old_outcome_as_it_is_and_settles_a_new_epoch[sqlite]", POINTS),
    ),
    Mutant(
        "marked before it is sent",
        "runtime/deliver/sender.py",
        "            mark = _send(taken, registered) if is_held() else outbox.released(taken)\n",
        "            self._store.deliveries.mark(outbox.sent(taken, f'id-{taken.to_send.token[:8]}'))\n"
        "            mark = _send(taken, registered) if is_held() else outbox.released(taken)\n",
        (f"{RELAY}::test_a_recipient_who_is_refused_fails_alone[sqlite]", POINTS),
    ),
    Mutant(
        "sent again without a look",
        "runtime/deliver/sender.py",
        "_look_up(taken, registered) if taken.may_be_sent else None",
        "None",
        (f"{RELAY}::test_s14_a_lost_answer_is_looked_up_before_anything_is_sent_again", POINTS),
    ),
    Mutant(
        "SQLite: an outbox read by a cursor, what was begun is never looked at again",
        f"{SQLITE}/deliveries/claim.sql",
        "WHERE provider = :provider AND due_at <= leasehold_now()",
        "WHERE provider = :provider AND fence = 0 AND due_at <= leasehold_now()",
        (f"{DELIVERIES}::test_s14_what_stands_claimed_beyond_its_time_is_taken_as_maybe_sent[sqlite]", POINTS),
    ),
    Mutant(
        "PostgreSQL: an outbox read by a cursor, what comes after the last that was sent",
        f"{POSTGRES}/deliveries/claim.sql",
        "      AND (%(only)s::text IS NULL OR delivery.status = %(only)s::text)\n",
        "      AND (%(only)s::text IS NULL OR delivery.status = %(only)s::text)\n"
        "      AND delivery.id > (SELECT coalesce(max(id), 0) FROM leasehold.delivery WHERE status = 'sent')\n",
        (f"{DELIVERIES}::test_what_was_not_sent_is_taken_again_although_later_ones_have_been_sent[postgres]",),
    ),
    Mutant(
        "a relay marks what another has taken over",
        f"{POSTGRES}/deliveries/mark.sql",
        " AND delivery.fence = item.fence",
        "",
        (f"{DELIVERIES}::test_s14_what_stands_claimed_beyond_its_time_is_taken_as_maybe_sent[postgres]",),
    ),
    Mutant(
        "SQLite: what a relay has only claimed counts as sent, maybe",
        f"{SQLITE}/deliveries/claim.sql",
        "status = 'reconciling' OR (status = 'pending' AND notification_id IS NULL)",
        "status = 'reconciling'",
        (f"{DELIVERIES}::test_s14_what_was_only_claimed_is_taken_again_as_it_was_and_spends_no_attempt[sqlite]",),
    ),
    Mutant(
        "a relay sends before it is on record that it does",
        "runtime/deliver/relay.py",
        "begun = self._store.deliveries.begin([one for one in found if not one.may_be_sent], self.worker)",
        "begun = [one for one in found if not one.may_be_sent]",
        (POINTS,),
    ),
    Mutant(
        "PostgreSQL: a relay that was found gone begins what another has",
        f"{POSTGRES}/deliveries/begin.sql",
        "delivery.fence = item.fence AND ",
        "",
        (f"{DELIVERIES}::test_s14_what_was_only_claimed_is_taken_again_as_it_was_and_spends_no_attempt[postgres]",),
    ),
    Mutant(
        "the deliveries of a dead relay wait until their claims are over",
        "runtime/maintain/sweeper.py",
        "if (count := self._store.workers.reclaim_deliveries(neighbour.worker)) > 0:",
        "if (count := 0) > 0:",
        (f"{SWEEPER}::test_s14_deliveries_of_a_relay_that_is_gone_are_given_back_in_the_same_second[sqlite]",),
    ),
    Mutant(
        "a relay whose claim is gone goes on",
        "runtime/deliver/relay.py",
        "                one.deadline = 0\n",
        "                pass\n",
        (f"{DOUBT}::test_s14_a_relay_that_learns_that_its_claim_is_gone_does_not_begin_to_send",),
    ),
    Mutant(
        "a claim on a message is counted from the answer",
        "runtime/deliver/relay.py",
        "                self._start(HeldDelivery(taken, asked_at))\n",
        "                self._start(HeldDelivery(taken, clock.uptime()))\n",
        (f"{DOUBT}::test_s14_a_claim_on_a_message_is_counted_from_the_moment_it_was_asked_for",),
    ),
    Mutant(
        "a renewed claim on a message is counted from the answer",
        "runtime/deliver/relay.py",
        "                one.extend(asked_at)\n",
        "                one.extend(clock.uptime())\n",
        (f"{DOUBT}::test_s14_a_claim_on_a_message_is_counted_from_the_moment_it_was_asked_for",),
    ),
    Mutant(
        "a relay that is behind waits for the next pulse",
        "runtime/deliver/relay.py",
        "        if self._is_behind:\n            self._due.set()\n",
        "        pass\n",
        (f"{DOUBT}::test_l3_a_relay_that_could_not_take_all_takes_the_rest_as_soon_as_it_has_room",),
    ),
    Mutant(
        "a relay requests its providers always in the same order",
        "runtime/deliver/relay.py",
        "        self._turn += 1\n",
        "",
        (f"{DOUBT}::test_l3_providers_take_turns_so_that_one_with_many_messages_does_not_starve_another",),
    ),
    Mutant(
        "a relay relies on its claim beyond its time",
        "runtime/deliver/relay.py",
        "asked_at + clock.microseconds(limits.DELIVERY_LEASE_SECONDS - limits.DELIVERY_MARGIN_SECONDS)",
        "asked_at + clock.microseconds(limits.DELIVERY_LEASE_SECONDS + limits.DELIVERY_MARGIN_SECONDS)",
        (f"{DOUBT}::test_s14_a_claim_on_a_message_is_counted_from_the_moment_it_was_asked_for",),
    ),
)

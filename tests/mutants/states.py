"""Mutants of states, branches, and jobs leased manually."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

SQLITE = "store/sql/sqlite"
POSTGRES = "store/sql/postgres"
MACHINES = "tests/app/test_machines.py"
BRANCHES = "tests/app/test_branches.py"
BYHAND = "tests/app/test_manual.py"
BORROWED = "tests/store/db/test_borrowed.py"

MUTANTS: Final = (
    Mutant(
        "a lost lease moves a state",
        f"{SQLITE}/machines/move.sql",
        "WHERE lease.expires_at > leasehold_now();",
        "WHERE true;",
        (f"{MACHINES}::test_s2_a_lost_lease_moves_nothing[sqlite]",),
    ),
    Mutant(
        "a move without an arrow is made",
        f"{SQLITE}/machines/move.sql",
        ") THEN 'moved' ELSE 'denied' END,",
        ") THEN 'moved' ELSE 'moved' END,",
        (f"{MACHINES}::test_a_move_without_an_arrow_is_denied_and_changes_nothing[sqlite]",),
    ),
    Mutant(
        "a later attempt makes the moves of the one before again",
        f"{SQLITE}/machines/move.sql",
        ") >= item.value ->> 'ordinal' THEN 'again'",
        ") >= 1000000 THEN 'again'",
        (f"{MACHINES}::test_an_attempt_that_starts_from_the_top_repeats_no_move[sqlite]",),
    ),
    Mutant(
        "the database lets any statement change a state",
        f"{SQLITE}/migrations/0001_baseline.sql",
        "WHEN NEW.job_id <> OLD.job_id OR NEW.subject <> OLD.subject OR NEW.machine <> OLD.machine OR NOT EXISTS (",
        "WHEN false AND NOT EXISTS (",
        (f"{MACHINES}::test_a_change_of_a_state_by_plain_sql_is_refused_by_the_database[sqlite]",),
    ),
    Mutant(
        "a move leaves no line in the journal",
        f"{SQLITE}/machines/move.sql",
        "FROM temp.leasehold_step\nWHERE verdict = 'moved' ORDER BY number;",
        "FROM temp.leasehold_step\nWHERE verdict = 'gone' ORDER BY number;",
        (f"{MACHINES}::test_s6_a_job_moves_along_its_arrows_and_each_move_is_a_line_of_the_journal[sqlite]",),
    ),
    Mutant(
        "moves of one thing in one group are made from where the first began",
        "store/machines.py",
        "first, moves = _one_of_each(moves)",
        "first, moves = list(moves), []",
        (f"{MACHINES}::test_many_moves_of_one_thing_are_made_one_after_the_other[sqlite]",),
    ),
    Mutant(
        "moves of several things of one task are chained to the same event",
        "store/machines.py",
        "names = {(move.job_id, move.subject), move.task_id}",
        "names = {(move.job_id, move.subject)}",
        (
            "tests/app/test_moves.py::test_s6_moves_of_several_things_asked_for_at_once_are_all_made_and_all_on_record[sqlite]",
        ),
    ),
    Mutant(
        "the limit of each branch is not looked at",
        f"{SQLITE}/queues/make_slots.sql",
        "WHERE name IN (:queue, :family) AND capacity IS NOT NULL",
        "WHERE name IN (:queue, '') AND capacity IS NOT NULL AND :family IS NOT NULL",
        (f"{BRANCHES}::test_s11_each_branch_has_the_limit_for_itself_over_several_workers[sqlite]",),
    ),
    Mutant(
        "a slot does not rest",
        f"{SQLITE}/queues/free_slots.sql",
        "max(slot.free_at - leasehold_now(), 0) AS wait_us",
        "0 AS wait_us",
        (f"{BRANCHES}::test_a_rate_lets_so_many_start_in_a_second_and_returns_when_the_next_may[sqlite]",),
    ),
    Mutant(
        "a paused queue does not pause its branches",
        f"{POSTGRES}/leases/claim.sql",
        " AND NOT coalesce(base.paused, false)",
        "",
        (f"{BRANCHES}::test_a_paused_queue_pauses_its_branches_and_so_does_its_family[postgres]",),
    ),
    Mutant(
        "a manual lease that has expired is renewed",
        f"{SQLITE}/leases/renew.sql",
        "AND lease.fence = item.value ->> 'fence'\n    AND lease.expires_at > leasehold_now()",
        "AND lease.fence = item.value ->> 'fence'",
        (f"{BYHAND}::test_s4_what_expired_is_not_renewed_and_goes_to_the_next_with_a_new_fence[sqlite]",),
    ),
    Mutant(
        "an owner takes up what another holds",
        "app/manual.py",
        "if found is None or found.boot or found.host != owner:",
        "if found is None or found.boot:",
        (f"{BYHAND}::test_an_owner_takes_up_again_what_it_holds_and_nobody_elses[sqlite]",),
    ),
    Mutant(
        "a manual lease is taken inside a transaction that is not committed",
        "app/manual.py",
        "if store.database.is_bound:",
        "if False:",
        (
            f"{BYHAND}::test_what_is_not_committed_is_not_leased[sqlite]",
            f"{BORROWED}::test_what_the_caller_has_not_committed_leases_nothing_and_begins_no_effect[sqlite3]",
        ),
    ),
    Mutant(
        "an old library may open a write-ahead log",
        "store/db/sqlite_borrowed.py",
        'if found < VERSION_MIN and _query(connection, "PRAGMA main.journal_mode")[0][0] == "wal":',
        "if found < STANDARD_VERSION_MIN:",
        (f"{BORROWED}::test_an_old_library_is_kept_away_from_a_write_ahead_log",),
    ),
    Mutant(
        "the caller's text factory is used by the engine",
        "store/db/sqlite_borrowed.py",
        "callers, connection.text_factory = connection.text_factory, str",
        "callers = connection.text_factory",
        (f"{BORROWED}::test_how_the_caller_wants_rows_and_texts_is_left_alone",),
    ),
)

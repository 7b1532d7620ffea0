"""Mutants of the run lock."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import Mutant

HOLDING = "tests/runlock/test_lock.py"
HOLD = "tests/runlock/test_hold.py"
CROWD = "tests/runlock/test_crowd.py"
LEFTOVERS = "tests/runlock/test_leftovers.py"
STRANGE = "tests/runlock/test_strange_files.py"
CONSTANTS = "tests/runlock/test_constants.py"
PAYLOAD = "tests/runlock/test_payload.py"
KILLS = "tests/runlock/test_kills.py::test_s15_a_kill_at_any_call_of_the_file_system_needs_nobody_to_clean_up"
OVERTAKEN = f"{HOLDING}::test_s15_a_holder_that_was_overtaken_changes_nothing"

MUTANTS: Final = (
    Mutant(
        "run lock: the guard keeps nobody out",
        "runlock/guard.py",
        "    while not _locked(file):\n",
        "    while False:\n",
        (f"{CROWD}::test_s15_of_32_starters_on_one_stale_lock_exactly_one_wins_in_each_round[50]",),
    ),
    Mutant(
        "run lock: a guard that was deleted lets its waiters in",
        "runlock/guard.py",
        "            if _is_named(path, file):\n",
        "            if path:\n",
        (f"{HOLD}::test_s15_a_guard_that_was_deleted_while_it_was_waited_for_lets_nobody_in",),
    ),
    Mutant(
        "run lock: the guard is closed but not unlocked",
        "runlock/guard.py",
        "        fcntl.flock(file, fcntl.LOCK_UN)\n",
        "",
        (f"{HOLD}::test_a_child_forked_inside_the_guard_does_not_keep_others_out",),
    ),
    Mutant(
        "run lock: made first and written afterwards",
        "runlock/files.py",
        "        os.link(temporary, path)\n",
        "        path.touch(exist_ok=False)\n        path.write_bytes(content)\n",
        (f"{KILLS}[strace-acquire]",),
    ),
    Mutant(
        "run lock: a heartbeat is written in place",
        "runlock/files.py",
        "        temporary.rename(path)\n",
        "        path.write_bytes(content)\n        temporary.unlink()\n",
        (f"{KILLS}[strace-heartbeat]", HOLDING),
    ),
    Mutant(
        "run lock: temporary files stay",
        "runlock/lock.py",
        "    clean(folder, now)\n",
        "",
        (f"{LEFTOVERS}::test_a_lock_linked_temporary_file_left_is_cleaned_by_the_next_start",),
    ),
    Mutant(
        "run lock: an archive overwrites another",
        "runlock/files.py",
        "        os.link(lock, place, follow_symlinks=False)\n",
        "        place.unlink(missing_ok=True)\n        os.link(lock, place, follow_symlinks=False)\n",
        (f"{HOLDING}::test_s15_an_archive_is_never_overwritten",),
    ),
    Mutant(
        "run lock: archived twice after a kill",
        "runlock/files.py",
        "    except FileExistsError:\n        return identity_of(os.lstat(place)) == stale\n",
        "    except FileExistsError:\n        return False\n",
        (
            f"{LEFTOVERS}::test_a_stale_lock_archived_not_yet_unlinked_is_not_archived_twice",
            f"{KILLS}[strace-takeover]",
        ),
    ),
    Mutant(
        "run lock: the nonce is not asked for",
        "runlock/lock.py",
        " or read_nonce(lock.run_dir) != lock.nonce",
        "",
        (f"{HOLDING}::test_s15_an_inode_that_is_used_again_does_not_make_a_lock_ours",),
    ),
    Mutant(
        "run lock: any file of that name is ours",
        "runlock/lock.py",
        "found.identity != lock.identity or ",
        "",
        (f"{HOLDING}::test_a_copy_put_in_place_of_a_lock_is_not_that_lock",),
    ),
    Mutant(
        "run lock: a heartbeat does not look whose lock it is",
        "runlock/lock.py",
        "    if lost := _difference(lock, read_lock(lock.run_dir)):\n",
        '    if lost := "":\n',
        (OVERTAKEN,),
    ),
    Mutant(
        "run lock: a release does not look whose lock it is",
        "runlock/lock.py",
        "        if lost:\n            raise ReleaseRefused",
        "        if not lock:\n            raise ReleaseRefused",
        (OVERTAKEN,),
    ),
    Mutant(
        "run lock: stale a moment too early",
        "runlock/payload.py",
        "age > LOCK_STALE_TTL_SECONDS * SECOND",
        "age >= LOCK_STALE_TTL_SECONDS * SECOND",
        (f"{HOLDING}::test_s15_a_fresh_lock_keeps_others_out_and_stays_as_it_is",),
    ),
    Mutant(
        "run lock: a heartbeat from the future is active for ever",
        "runlock/payload.py",
        "    if age < -LOCK_FUTURE_MAX_SECONDS * SECOND:\n",
        "    if age < -(10**20):\n",
        (f"{PAYLOAD}::test_a_heartbeat_far_in_the_future_is_invalid_and_not_active_for_ever",),
    ),
    Mutant(
        "run lock: true is a process's number",
        "runlock/payload.py",
        'type(value["pid"]) is not int',
        'not isinstance(value["pid"], int)',
        (f"{PAYLOAD}::test_a_lock_with_a_field_that_is_not_as_it_should_be_is_invalid_and_left_alone",),
    ),
    Mutant(
        "run lock: a file of any size is read",
        "runlock/files.py",
        "    if found.st_size > LOCK_BYTES_MAX:\n",
        "    if found.st_size < 0:\n",
        (f"{STRANGE}::test_a_strange_file_ends_with_exit_3_and_is_neither_waited_for_nor_touched",),
    ),
    Mutant(
        "run lock: the module loads with any time to live",
        "runlock/constants.py",
        "check_constants(LOCK_HEARTBEAT_WRITE_INTERVAL_SECONDS, LOCK_STALE_TTL_SECONDS)\n",
        "",
        (f"{CONSTANTS}::test_the_module_refuses_to_load_with_a_time_to_live_that_is_too_short",),
    ),
    Mutant(
        "run lock: a holder without heartbeats trusts its lock",
        "runlock/hold.py",
        " or clock.uptime() >= self._trusted_until or ",
        " or ",
        (f"{HOLD}::test_a_holder_that_cannot_write_heartbeats_stops_before_others_may_take_over",),
    ),
)

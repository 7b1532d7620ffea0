"""The engine broken on purpose, each time in one place: the suite is as good as the mutants it catches."""

from __future__ import annotations

from typing import Final

from tests.mutants.agents import MUTANTS as AGENTS
from tests.mutants.commands import MUTANTS as COMMANDS
from tests.mutants.contracts import MUTANTS as CONTRACTS
from tests.mutants.effects import MUTANTS as EFFECTS
from tests.mutants.jobs import MUTANTS as JOBS
from tests.mutants.leases import MUTANTS as LEASES
from tests.mutants.mutant import Mutant
from tests.mutants.reviews import MUTANTS as REVIEWS
from tests.mutants.runlocks import MUTANTS as RUN_LOCKS
from tests.mutants.sessions import MUTANTS as SESSIONS
from tests.mutants.states import MUTANTS as STATES
from tests.mutants.trees import MUTANTS as TREES
from tests.mutants.workers import MUTANTS as WORKERS

MUTANTS: Final[tuple[Mutant, ...]] = (
    *LEASES, *EFFECTS, *JOBS, *WORKERS, *STATES, *TREES, *RUN_LOCKS, *CONTRACTS, *COMMANDS, *AGENTS, *SESSIONS,
    *REVIEWS,
)  # fmt: skip

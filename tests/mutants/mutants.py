"""Builds of the engine that are broken on purpose, each in one place: the suite is as good as what it finds in them."""

from __future__ import annotations

from typing import Final

from tests.mutants.contracts import BUILDS as CONTRACTS
from tests.mutants.effects import BUILDS as EFFECTS
from tests.mutants.jobs import BUILDS as JOBS
from tests.mutants.leases import BUILDS as LEASES
from tests.mutants.mutant import Build
from tests.mutants.runlocks import BUILDS as RUN_LOCKS
from tests.mutants.states import BUILDS as STATES
from tests.mutants.workers import BUILDS as WORKERS

BUILDS: Final[tuple[Build, ...]] = (*LEASES, *EFFECTS, *JOBS, *WORKERS, *STATES, *RUN_LOCKS, *CONTRACTS)

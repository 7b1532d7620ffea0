"""What the code cannot state itself: sentences for the reference. The tests check that each name exists."""

from leasehold.model.journal.event import Name as EventName

PACKAGES = {
    "leasehold.testing": "For your own tests",
    "leasehold.providers": "Providers of deliveries",
    "leasehold.redact": "Redaction",
    "leasehold.contracts": "Contracts of rows on disk",
    "leasehold.runlock": "Run locks",
    "leasehold.pipelines.download": "The download pipeline",
    "leasehold.pipelines.translate": "The translation pipeline",
}
# Attributes that `__init__` sets; the test checks that they exist.
ATTRIBUTES = {
    "Job": {"id": "the job's id", "kind": "its kind", "key": "its key", "payload": "its payload"},
    "Task": {"attempt": "the number of this attempt, from 1", "lease": "the lease: task, job, fence, key, payload"},
    "Held": {
        "owner": "the name it is leased under",
        "job_id": "the job that is leased",
        "key": "the key of the job",
        "fence": "which lease of the job this is: every one has a higher number than those before",
        "task": "the task, as a handler gets it",
    },
}
JOURNAL = {
    EventName.SUBMITTED: "the task was created",
    EventName.BUDGETED: "the job got its budgets",
    EventName.ADVANCED: "the task became ready: its prerequisites are done, or its time has come",
    EventName.CLAIMED: "a worker leased the task: fence and attempt grow by one",
    EventName.RELEASED: "the lease was given back; no attempt is spent",
    EventName.RECLAIMED: "the lease was taken back: it expired, or its worker is gone",
    EventName.CLEARED: "losses were taken back: another task was convicted of killing the workers",
    EventName.RETRIED: "the attempt failed and the task will be tried again",
    EventName.DONE: "the task ended DONE",
    EventName.FAILED: "the task ended ERROR",
    EventName.ASKED: "a running task was asked to cancel",
    EventName.MOVED: "the job, or a named part of it, changed state in its machine",
    EventName.SPENT: "a budget at the root was debited; `left` is what was left of it then",
    EventName.REFUSED: "a spend would have passed its budget's limit: nothing was debited",
    EventName.LINKED: "the task submitted a linked job",
    EventName.CANCELLED: "the task ended CANCELLED",
    EventName.REVIVED: "a new epoch of the task began",
    EventName.SUPERSEDED: "a revival from the start replaced the task",
}
ENVIRONMENT = {
    "LEASEHOLD_URL": "the database, if the program or command line names none; keep passwords here",
    "LEASEHOLD_DOWNLOAD_DIR": "the collection that `leasehold worker leasehold.pipelines.download` serves",
    "LEASEHOLD_TRANSLATE_DIR": "the run that `leasehold worker leasehold.pipelines.translate` serves",
    "LEASEHOLD_AGENTS_TOKEN": "the bearer token of `leasehold agents serve`, if no file is named",
    "LEASEHOLD_TEST_POSTGRES_URL": "a PostgreSQL server for the fixture `leasehold_postgres_url`",
    "LEASEHOLD_TEST_PG_BIN": "the folder of PostgreSQL's programs, for the same fixture where no server is named",
    "LEASEHOLD_ELSEWHERE": "set by `leasehold.testing.elsewhere` for the programs that a test starts",
    "LEASEHOLD_TRANSLATE_KEY": "the key sent to an endpoint that is not a known vendor's",
}

LOG = {
    "worker_started": "the worker claims tasks from now on",
    "worker_stopping": "the worker claims no more tasks; `released` leases were given back, `running` attempts finish",
    "worker_stopped": "the worker has ended; `left` attempts were still running and will be repeated",
    "attempt_failed": "a handler failed, with `error`; `ending` shows what follows: a retry or the end of the task",
    "attempt_cancelled": "an attempt of a cancelled job has ended",
    "attempt_abandoned": "a handler did not stop after a cancel or its time-out: its attempt has ended, it still runs",
    "abandoned_returned": "the handler of an abandoned attempt has returned; its result is ignored",
    "attempt_traceback": "the traceback of a failed attempt; shown at `--log-level debug` and with `--tracebacks`",
    "lease_lost": "an attempt lost its lease; its settlement will be refused",
    "deliveries_reclaimed": "the sweeper gave back what a relay that is gone had claimed",
    "suspects_cleared": "a task killed its workers and was buried: those that ran with it are no suspects any more",
    "leases_reclaimed": "the sweeper took leases back from workers that are gone, or that did not renew them",
    "relay_started": "this process sends the deliveries of these providers",
    "deliveries_unfinished": "the relay has ended while deliveries were being sent; another relay looks them up",
    "delivery_overtaken": "the claim on a delivery was lost; another relay continues with it",
    "delivery_sent": "a message was sent and marked, with evidence",
    "delivery_failed": "a message was refused for good, or all attempts failed; a person decides",
    "delivery_in_doubt": "a message may have been sent, and its provider cannot confirm it; a person decides",
    "delivery_rescheduled": "a message was not sent, or its look-up failed; it is tried again after the delay",
    "delivery_suspect": "a delivery is marked sent without evidence, which the order of send and mark rules out: alert",
    "database_away": "the database has not answered for some seconds; no other part of this worker repeats that",
    "database_back": "the database answers again, after `seconds`",
    "component_failed": "a part of the worker had an error and continues",
}

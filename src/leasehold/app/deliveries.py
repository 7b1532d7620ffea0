"""The façade's noun `app.deliveries`: providers, and what became of the messages that tasks deliver."""

import builtins
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from leasehold.app.ready_store import Operations, ReadyStore
from leasehold.errors import KindTaken, OptionInvalid
from leasehold.insight.read import deliveries as insight
from leasehold.insight.read.deliveries import Delivery
from leasehold.model.delivery import Provider
from leasehold.model.failure.wording import fit
from leasehold.model.limits import NOTIFICATION_ID_LENGTH_MAX, PAGE_MAX, REASON_LENGTH_MAX, VERSION_MAX
from leasehold.model.names import check_choice, check_flag, check_id, check_name, check_visible, check_whole
from leasehold.model.outbox import DELIVERY_RETRY, DeliveryStatus
from leasehold.model.retry import Retry
from leasehold.redact import scrub
from leasehold.runtime import run
from leasehold.runtime.deliver.relay import reconcile_now
from leasehold.runtime.deliver.sender import RegisteredProvider
from leasehold.runtime.observe.events import EventLog
from leasehold.store.audit import principal_of
from leasehold.store.deliveries import DeliveryAnswer


class DeliveryOperations(Operations):
    """What a process needs to send, and what operators do with deliveries."""

    def __init__(self, ready_store: ReadyStore) -> None:
        super().__init__(ready_store)
        self._providers: dict[str, RegisteredProvider] = {}

    @property
    def providers(self) -> Mapping[str, RegisteredProvider]:
        """The providers registered here, by name."""
        return MappingProxyType(self._providers)

    def provider(self, name: str, provider: Provider, *, retry: Retry = DELIVERY_RETRY) -> None:
        """Have this process send what tasks deliver with `provider=name`; a task that names none means `default`.

        Tasks may name providers that only other processes have, so that those who run handlers need no credentials;
        `leasehold doctor` shows deliveries that nobody sends.
        """
        if check_name(name, "provider") in self._providers:
            raise KindTaken(f"It is the provider '{name}'.")
        if not (callable(getattr(provider, "send", None)) and callable(getattr(provider, "find", None))):
            raise OptionInvalid(f"A provider has the methods send and find; {type(provider).__name__} lacks one.")
        self._providers[name] = RegisteredProvider(provider, retry)

    def list(
        self, *, status: str | None = None, subject: str | None = None, limit: int = 50
    ) -> builtins.list[Delivery]:
        """List deliveries, newest first."""
        check_choice(status, DeliveryStatus, "status")
        check_whole(limit, 1, PAGE_MAX, "limit")
        return insight.listing(self._store, status=status, subject=subject, limit=limit)

    def get(self, delivery_id: int) -> Delivery:
        """Read a delivery; `DeliveryUnknown` if there is none with this id."""
        return insight.find(self._store, check_id(delivery_id, "delivery"))

    def reconcile(self, delivery_id: int | None = None, *, principal: str | None = None) -> builtins.list[Delivery]:
        """Look up again what is in doubt or reconciling, one delivery or all, and return them afterwards.

        Only deliveries of the providers registered here; what a provider never got is sent like a new one. Who asked
        is on the audit trail of each.
        """
        store = self._store
        if delivery_id is not None:
            found = store.deliveries.get(check_id(delivery_id, "delivery"))
            if found.provider not in self._providers:
                raise OptionInvalid(f"Delivery {delivery_id} is for the provider '{found.provider}', not known here.")
        ids = reconcile_now(store, self._providers, EventLog(), principal_of(principal), delivery_id)
        return [insight.find(store, one) for one in ids]

    def answer(
        self,
        delivery_id: int,
        *,
        sent: bool,
        notification_id: str | None = None,
        principal: str | None = None,
        notes: str = "",
    ) -> Delivery:
        """Record what a person knows of a delivery in doubt, reconciling or failed.

        Sent: it is marked so; without the provider's id the person's word stands as evidence. Not sent: it is sent
        like a new one. `principal` is the user of this process unless given. `DeliverySettled` if nobody waits for it.
        """
        was_sent, who = check_flag(sent, "sent"), principal_of(principal)
        evidence = f"confirmed by {who}" if notification_id is None else notification_id
        known = check_visible(evidence, NOTIFICATION_ID_LENGTH_MAX, "A notification id")
        if notes and not str(notes).strip():
            raise OptionInvalid("Notes is more than blanks.")
        answer = DeliveryAnswer(was_sent, known if was_sent else None, who, fit(str(notes), REASON_LENGTH_MAX, scrub))
        return insight.view(self._store.deliveries.answer(check_id(delivery_id, "delivery"), answer))

    def counts(self, subject: str, version: int, recipients: Sequence[str] | None = None) -> dict[str, int]:
        """Count the deliveries of a subject's version by status, of these recipients or of all."""
        check_whole(version, 1, VERSION_MAX, "version")
        return self._store.deliveries.counts(subject, version, recipients)

    def complete(self, subject: str, version: int, recipients: Sequence[str] | None = None) -> bool:
        """Return whether all of these recipients, or all that were written to, got this version."""
        wanted = None if recipients is None else sorted(set(recipients))
        counts = self.counts(subject, version, wanted)
        done = counts.get(DeliveryStatus.SENT, 0)
        return done == sum(counts.values()) and (done > 0 if wanted is None else done == len(wanted))

    def relay(self) -> None:
        """Send deliveries, without running jobs, until SIGTERM or SIGINT."""
        if not self._providers:
            raise OptionInvalid("This app has no providers; register one with app.deliveries.provider(name, provider).")
        run.orchestrate(self._store, self._providers)

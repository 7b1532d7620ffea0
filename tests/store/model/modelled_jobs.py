"""Jobs as dictionaries: what the end of a task means for those that wait, what a cancel ends, what is revived."""

from __future__ import annotations

from typing import Any

from tests.store.model.modelled import ENDED, Dead, Entry, Model, Name

STAGES = ("script", "audio", "render")
QUEUES = {"script": "default", "audio": "narrow", "render": "default"}


class Jobs:
    """Whole jobs: plain ones, and films of which the script decides how many scenes have a sound."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def submit(self, key: str, queue: str, priority: int, delay: float, **terms: Any) -> bool:
        """Add a plain job unless it is there; return whether it was added."""
        if (key, None, None, 1) in self.model.tasks:
            return False
        self.model.add((key, None, None, 1), queue, priority, delay, **terms)
        return True

    def submit_film(self, key: str, priority: int, delay: float) -> bool:
        """Add a pipeline's job unless it is there."""
        root = (key, None, None, 1)
        if root in self.model.tasks:
            return False
        job = self.model.add(root, "default", priority, unmet=len(STAGES), attempts_max=5)
        job.journal.append(("budgeted", None, None))
        before: tuple[Name, ...] = ()
        for stage in STAGES:
            name = (key, stage, None, 1)
            terms = {"parent": root, "needs": before, "fans_out": stage == "audio"}
            self.model.add(name, QUEUES[stage], priority, 0 if before else delay, unmet=len(before), **terms)
            before = (name,)
        return True

    def cancel(self, key: str) -> int:
        """Call a job off: at once, or when its attempts end; return how many tasks that concerned."""
        concerned = 0
        for one in self._members(key):
            if one.place == "lease" and not one.asked:
                one.asked = True
                one.journal.append(("asked", one.fence, one.attempt))
                concerned += 1
            elif one.place in ("waiting", "ready"):
                self.model.end(one, "CANCELLED", (None, None))
                one.unseen = False  # all of its job ends, so nobody need be notified
                concerned += 1
        return concerned

    def _members(self, key: str) -> list[Entry]:
        return [one for one in self.model.tasks.values() if one.name[0] == key]

    def advance(self) -> None:
        """Look at ends until there is none that nobody has looked at."""
        while ended := [one for one in self.model.tasks.values() if one.unseen]:
            for one in ended:
                one.unseen = False
            self._advance_once(ended)

    def _advance_once(self, ended: list[Entry]) -> None:
        ready: list[Entry] = []
        fans: list[Entry] = []
        wholes: list[Entry] = []
        spoilt: list[Entry] = []
        for one in [one for one in self.model.tasks.values() if one.place == "waiting"]:
            met = [end for end in ended if end.name in one.needs]
            parts = [end for end in ended if end.parent == one.name]
            one.unmet -= len(met) + len(parts)
            if any(end.place != "DONE" for end in met):
                spoilt.append(one)
            elif (met or parts) and one.unmet <= 0:
                (wholes if parts else fans if one.fans_out else ready).append(one)
        for one in ready:
            self.model.make_ready(one)
            one.journal.append(("advanced", None, None))
        for one in fans:
            self._fan_out(one)
        for one in wholes:
            self.model.end(one, self._status_of_parts(one), (None, None))
        for one in spoilt:
            self.model.end(one, "CANCELLED", (None, None))
            one.spoilt = True

    def _fan_out(self, group: Entry) -> None:
        output = self.model.tasks[group.needs[0]].output
        scenes = output.get("scenes") if isinstance(output, dict) else None
        if scenes is None:
            self.model.end(group, "ERROR", (None, None))
            self.model.bury(group, "EACH_INVALID")
        elif not scenes:
            self.model.end(group, "DONE", (None, None))
        for number in range(len(scenes or [])):
            key, stage, _, _ = group.name
            name = (key, stage, number, group.epoch)
            self.model.add(name, group.queue, group.priority, parent=group.name)
        group.unmet = len(scenes or [])

    def _status_of_parts(self, whole: Entry) -> str:
        statuses = {one.place for one in self.model.tasks.values() if one.parent == whole.name}
        return next((status for status in ("ERROR", "CANCELLED") if status in statuses), "DONE")

    def refusal(self, letter: Dead, unanswered: int, *, from_start: bool) -> str | None:
        """Name the error that keeps a letter from being revived."""
        root = self.model.tasks[letter.name[0], None, None, 1]
        if letter.state != "open":
            return "LETTER_REVIVED"
        if root.place == "CANCELLED":
            return "JOB_CANCELLED"
        if not letter.evidenced:
            return "EVIDENCE_MISSING"
        if letter.error_class == "EFFECT_IN_DOUBT" and unanswered:
            return "EFFECT_UNANSWERED"
        scope = [root, self.model.tasks[letter.name], *self._stages(root)]
        if from_start and any(one.place not in ENDED for one in scope):
            return "JOB_UNFINISHED"
        return None

    def _stages(self, root: Entry) -> list[Entry]:
        return [one for one in self.model.tasks.values() if one.parent == root.name]

    def restart(self, letter: Dead) -> None:
        """Start a whole job again."""
        root = self.model.tasks[letter.name[0], None, None, 1]
        for one in self._members(root.name[0]):
            if one.name[2] is not None and one.place in ENDED:
                one.journal.append(("superseded", one.fence, None))
                one.place, one.unseen = "superseded", False
                self._close_letters(one)
        for one in [root, *self._stages(root)]:
            waits_for = len(one.needs) if one is not root else len(self._stages(root))
            self._begin_again(one, waits_for, ready=not waits_for)

    def revive(self, letter: Dead) -> None:
        """Start a failed task's next epoch, with all that contains it or could not run because of it."""
        subject = self.model.tasks[letter.name]
        above = self._above(subject)
        after = self._hopeful(subject, above)
        live = [subject, *above, *after]
        begun = [subject, *after, *(one for one in above if one.place in ENDED)]
        waits = {one.name: self._waits_for(one, live) for one in after}
        grown = {one.name: sum(part.parent == one.name and not part.unseen for part in begun) for one in above}
        parts = {one.name: sum(part.parent == one.name for part in begun) for one in above}
        self._begin_again(subject, 0, ready=not subject.fans_out)
        for one in after:
            self._begin_again(one, waits[one.name], ready=False)
        for one in above:
            if one.place in ENDED:
                self._begin_again(one, parts[one.name], ready=False)
            else:
                one.unmet += grown[one.name]
        if subject.fans_out:
            self._fan_out(subject)

    def _above(self, one: Entry) -> list[Entry]:
        found = []
        while one.parent is not None:
            one = self.model.tasks[one.parent]
            found.append(one)
        return found

    def _hopeful(self, subject: Entry, above: list[Entry]) -> list[Entry]:
        """Return the stages that could not run and now may, in the order of the pipeline."""
        live = {subject.name} | {one.name for one in above}
        found = []
        for one in self._members(subject.name[0]):
            needs = [self.model.tasks[need] for need in one.needs]
            may = all(need.name in live or need.place not in ("ERROR", "CANCELLED") for need in needs)
            if one.spoilt and one.place == "CANCELLED" and may and any(need.name in live for need in needs):
                found.append(one)
                live.add(one.name)
        return found

    def _waits_for(self, one: Entry, live: list[Entry]) -> int:
        needs = [self.model.tasks[need] for need in one.needs]
        return sum(need in live or need.place not in ENDED or need.unseen for need in needs)

    def _begin_again(self, one: Entry, unmet: int, *, ready: bool) -> None:
        one.journal.append(("revived", one.fence, None))
        one.epoch, one.attempt, one.losses = one.epoch + 1, 0, 0
        one.unseen = one.spoilt = one.keeps_place = False
        self._close_letters(one)
        if ready:
            self.model.make_ready(one)
        else:
            one.place, one.unmet, one.due = "waiting", unmet, None

    def _close_letters(self, one: Entry) -> None:
        for letter in self.model.letters:
            if letter.name == one.name and letter.state == "open":
                letter.state = "revived"

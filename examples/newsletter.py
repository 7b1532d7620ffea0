"""A newsletter: one pipeline, one task per reader, each sent under its own lease.

Run it alone:            python examples/newsletter.py
Or with workers:         leasehold worker examples.newsletter:app      (as many as you like, on as many machines)
                         leasehold submit newsletter '{"issue": 12}' --key issue-12
"""

from leasehold import Leasehold, Retry, Task, Transient

app = Leasehold()
newsletter = app.pipeline("newsletter")


@newsletter.stage
def readers() -> dict[str, list[str]]:
    """List the readers."""
    return {"readers": [f"reader-{number}@example.org" for number in range(1, 6)]}


@newsletter.stage(after=readers, each="readers", queue="mail", retry=Retry(attempts=3, delay_initial=0.1), lease=60)
def send(task: Task) -> dict[str, str]:
    """Send to one reader; one of them needs a second attempt."""
    if task.segment == "reader-3@example.org" and task.attempt == 1:
        raise Transient("mailbox busy", retry_after=0.2)
    return {"sent_to": task.segment}


@newsletter.stage(after=send)
def report(task: Task, issue: int) -> dict[str, int]:
    """Count the messages, after all were sent."""
    return {"issue": issue, "sent": len(task.inputs["send"])}


if __name__ == "__main__":
    job = newsletter.submit({"issue": 12}, key="issue-12")
    app.drain()
    print(job.status, job.output)

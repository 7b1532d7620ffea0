"""A user's module with an app of its own, as the samples import it; what it is called there is `shop`."""

from leasehold import Leasehold, Retry, Transient

app = Leasehold("sqlite:///production.db")


@app.job(retry=Retry(attempts=3))
def welcome(task, user: int):
    if task.attempt < 2:
        raise Transient("mail is down", retry_after=3600)
    return f"welcome {user}"


@app.job(isolated=True)
def forward(user: int):
    return welcome.submit({"user": user}).id


film = app.pipeline("film")


@film.stage
def script():
    return "a script"

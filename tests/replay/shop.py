"""The app whose jobs are recorded and replayed: effects, transactions, retries, letters, segments, and a cancel.

Every act writes to the file that SHOP_ACTS names, so a test sees whether anything was done to the outside world.
"""

import asyncio
import os
from pathlib import Path

from leasehold import BudgetExceeded, Leasehold, Permanent, Retry, Transient

app = Leasehold()
SEVERAL = Retry(attempts=4, delay_initial=10, delay_max=60)


def act(word: str, value: object) -> object:
    with Path(os.environ["SHOP_ACTS"]).open("a", encoding="utf-8") as acts:
        acts.write(f"{word}\n")
    return value


@app.job(retry=SEVERAL)
def order(task, item: str, price: float):
    reserved = task.effect("RESERVE", lambda: act("reserve", {"shelf": 7, "item": item}), item=item)
    if task.attempt < 3:
        raise Transient("the bank is away")
    paid = task.effect("PAY", lambda: act("pay", {"receipt": f"{item}: {price:.2f} €"}), amount=price)
    booked = task.transaction("BOOK", lambda _: act("book", 17), item=item)
    task.deliver(f"order {item}", "ada@example.org", 1, {"text": f"Danke für {item} ☕"})
    task.progress(3, total=3)
    return {"reserved": reserved, "paid": paid, "booked": booked, "words": sorted({item, "a", "b", "c"})}


@app.job(retry=Retry(attempts=2, delay_initial=0))
def refuse(task, why: str):
    task.effect("LOOK", lambda: act("look", None), why=why)
    raise Permanent(why, error_class="ORDER_REFUSED")


@app.job(retry=Retry(attempts=1))
def unlucky(task):
    def fail():
        act("unlucky", None)
        raise ConnectionResetError("cut off")

    task.effect("CALL", fail)


@app.job
async def several(task, names: list[str]):
    one = await task.effect("FIRST", lambda: act("first", 1))
    calls = [task.effect("NAME", lambda name=name: act(name, name.upper()), name=name) for name in names]
    rest = await asyncio.gather(*calls)
    return {"one": one, "rest": rest, "booked": await task.transaction("BOOK", lambda _: act("book", 1))}


@app.job(isolated=True)
def apart(task, number: int):
    return task.effect("DOUBLE", lambda: act("double", number * 2), number=number)


parcels = app.machine(
    "parcel", {"PLANNED": "PACKED", "PACKED": ["SENT", "LOST"], "SENT": "ARRIVED"}, initial="PLANNED", failed="LOST"
)


@app.job(machine=parcels, retry=SEVERAL)
def parcel(task, boxes: int):
    task.advance("PACKED")
    for number in range(boxes):
        task.advance("PACKED", of=f"Schachtel {number} ☕")
    if task.attempt == 1:
        raise Transient("no van")
    task.advance("SENT")
    return task.effect("SEND", lambda: act("send", boxes))


@app.job(machine=parcels, isolated=True, retry=Retry(attempts=1))
async def lost(task):
    await task.advance("PACKED")
    await task.advance("ARRIVED")


@app.job(retry=SEVERAL)
def session(task, names: list[str]):
    """Spend and submit, pay in two attempts, and be refused once."""
    left = [task.spend("tokens", 10), task.spend("tokens", 10)]
    made = [task.submit("apart", {"number": len(name)}, key=name).key for name in names]
    if task.attempt == 1:
        raise Transient("once more")
    try:
        task.spend("tokens", 90)
    except BudgetExceeded:
        left.append(task.spend("tokens", 30, key="the cheap way"))
    return {"left": left, "made": made}


@app.job(retry=Retry(attempts=1))
async def spendthrift(task):
    await task.spend("tokens", 60)
    await task.spend("tokens", 60)


film = app.pipeline("film")


@film.stage
def script(task, scenes: int):
    return task.effect("WRITE", lambda: act("write", {"scenes": [f"scene {n}" for n in range(scenes)]}))


@film.stage(after=script, each="scenes", retry=SEVERAL)
def audio(task, scenes: int):
    if task.attempt == 1 and task.segment.endswith("1"):
        raise Transient("hoarse")
    spoken = task.effect("SPEAK", lambda: act("speak", len(task.segment)), text=task.segment)
    return {"seconds": spoken, "of": len(task.inputs["script"]["scenes"])}


@film.stage(after=script)
def poster(scenes: int):
    return None


@film.stage(after=[audio, poster])
def render(task, scenes: int):
    return {"length": sum(part["seconds"] for part in task.inputs["audio"]), "poster": task.inputs["poster"]}


@app.job
def idle():
    raise AssertionError("it is called off before it can run")

"""A child that asks for each of its calls: whether the session's budget allows one more."""

import json
import sys


def send(**message: object) -> None:
    print(json.dumps(message), flush=True)


order = json.loads(sys.stdin.readline())
found = {}
for number in order["input"]["numbers"]:
    send(type="solver_call", id=str(number))
    if not json.loads(sys.stdin.readline())["granted"]:
        break
    send(type="progress", text=f"looking at {number}")
    found[str(number)] = all(number % divisor for divisor in range(2, number))
send(type="result", output=found)

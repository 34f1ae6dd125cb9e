"""Where the training programs write the loss of each step, and where they stop to be killed.

JOURNAL is a file outside the watched folder. JOURNAL.until holds the step after which the program waits to be killed or let on;
without that file it trains to its end. While JOURNAL.wait is there, it waits before its first step so that its folder can be looked at.
"""

import json
import os
import time

PATH = os.environ["JOURNAL"]


def write(entry: dict) -> None:
    with open(PATH, "a", encoding="ascii") as file:
        file.write(json.dumps(entry) + "\n")


def begin(step: int) -> None:
    """Writes the step from which this life goes on; 0 is the beginning."""
    write({"begins": int(step)})
    while os.path.exists(f"{PATH}.wait"):
        time.sleep(0.02)


def record(step: int, loss: float) -> None:
    """Writes the loss of a finished step, and waits for good where the harness wants the kill."""
    write({"step": int(step), "loss": float(loss)})
    hold(step)


def limit():
    """Returns the step after which the program waits; None: it trains to its end."""
    try:
        with open(f"{PATH}.until", encoding="ascii") as file:
            return int(file.read())
    except (FileNotFoundError, ValueError):
        return None


def hold(step: int) -> None:
    """Waits while the step lies at or beyond the limit, which the harness may raise."""
    said = False
    while True:
        until = limit()
        if until is None or step < until:
            return
        if not said:
            write({"holds": int(step)})
        said = True
        time.sleep(0.05)


def final(value: float) -> None:
    """Writes one number of the model that the training ended with."""
    write({"final": float(value)})


def weigh(parameters) -> float:
    """Returns one number that two models share only when they have the same weights."""
    total = 0.0
    for at, one in enumerate(parameters):
        total += (at + 1) * float(one.detach().double().abs().sum())
    return total

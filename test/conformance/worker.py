"""A worker that does as its payloads say: `worker.py URL CONCURRENCY POLL_SECONDS STOP_SECONDS TYPE…`."""

import os
import sys
import time

sys.path.append(os.path.join(os.path.dirname(__file__), "../../examples/python"))
from jobtree_worker import PermanentError, RetryAfter, Snooze, Worker  # noqa: E402


snoozed = set()


def handle(payload, item):
    print("begun", flush=True)
    if "sleepMs" in payload:
        time.sleep(payload["sleepMs"] / 1000)
        print("ended", flush=True)
    if payload.get("untilUnwanted"):
        item.unwanted.wait()
        raise RuntimeError("It is of no use.")
    if "snoozeMs" in payload and item.key not in snoozed:
        snoozed.add(item.key)
        raise Snooze(payload["snoozeMs"] / 1000)
    if "retryAfterMs" in payload and item.attempt == 1:
        raise RetryAfter("It is too much.", payload["retryAfterMs"] / 1000)
    if payload.get("tellLast"):
        if not item.last_attempt:
            raise RuntimeError("There is another one.")
        return item.attempt
    if item.attempt <= payload.get("failures", 0):
        raise RuntimeError("It fails.")
    if payload.get("permanent"):
        raise PermanentError("It is no use.")
    return payload.get("result")


url, concurrency, poll, stop, *types = sys.argv[1:]
Worker(
    {type: handle for type in types}, url=url, concurrency=int(concurrency), poll_seconds=float(poll), stop_seconds=float(stop)
).run()

"""A worker that does as its payloads say: `worker.py URL CONCURRENCY POLL_SECONDS STOP_SECONDS TYPE`."""

import os
import sys
import time

sys.path.append(os.path.join(os.path.dirname(__file__), "../../examples/python"))
from jobtree_worker import PermanentError, Worker  # noqa: E402


def handle(payload, item):
    print("begun", flush=True)
    if "sleepMs" in payload:
        time.sleep(payload["sleepMs"] / 1000)
        print("ended", flush=True)
    if payload.get("untilUnwanted"):
        item.unwanted.wait()
        raise RuntimeError("It is of no use.")
    if item.attempt <= payload.get("failures", 0):
        raise RuntimeError("It fails.")
    if payload.get("permanent"):
        raise PermanentError("It is no use.")
    return payload.get("result")


url, concurrency, poll, stop, type_ = sys.argv[1:]
Worker(
    {type_: handle}, url=url, concurrency=int(concurrency), poll_seconds=float(poll), stop_seconds=float(stop)
).run()

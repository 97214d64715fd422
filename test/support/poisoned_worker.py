"""A worker in a process of its own: `poisoned_worker.py URL TYPE…`. A payload {ms, poison?} takes its time; with `poison` it ends the process."""

import os
import signal
import sys
import time

sys.path.append(os.path.join(os.path.dirname(__file__), "../../examples/python"))
from jobtree_worker import Worker  # noqa: E402


def handle(payload, item):
    time.sleep(payload["ms"] / 1000)
    if payload.get("poison"):
        os.kill(os.getpid(), signal.SIGKILL)
    return payload


url, *types = sys.argv[1:]
Worker({type: handle for type in types}, url=url).run()

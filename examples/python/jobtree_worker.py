"""A jobtree worker in Python's standard library alone: copy it, and change what you like.

    from jobtree_worker import PermanentError, Worker

    def greet(name, item):
        return f"Hello, {name}!"

    Worker({"greeting": greet}).run()

It speaks the protocol of docs/worker-protocol.md over HTTP: it claims, with claims that wait at the server for work, sends heartbeats and reports, and
sends again whatever got no answer. A handler runs in a thread of its own; it takes a payload and the item, and returns the result. It raises any
exception to fail, PermanentError to fail for good, RetryAfter to say when to try again, and Snooze to get the item later, which is no failure.
Once `item.wanted()` is false, the work is useless, so a handler that takes long should check it now and then. It logs to "jobtree" of the
module logging, or to standard error if your program has not set up any logging.
"""

import http.client
import json
import logging
import os
import random
import secrets
import signal
import socket
import threading
import time
import traceback
import uuid
from urllib.parse import urlsplit

log = logging.getLogger("jobtree")

FIELDS = "assignments { id itemId type payload attempt lastAttempt suspect hasSerializeKey heartbeatIntervalMs } limitedTypes"
REPORTED = "entries(all: false) { index status error { message } }"
ERROR = "... on UserError { code message field }"

CLAIM = f"""mutation ($claim: ClaimItemsInput!) {{
  answer: claimItems(input: $claim) {{ ... on ClaimItemsPayload {{ {FIELDS} }} {ERROR} }} }}"""
REPORT = f"""mutation ($reports: [ReportInput!]!) {{
  answer: reportOutcomes(input: {{ reports: $reports }}) {{ ... on ReportOutcomesPayload {{ {REPORTED} }} {ERROR} }} }}"""
EXCHANGE = f"""mutation ($reports: [ReportInput!]!, $claim: ClaimItemsInput!) {{
  answer: exchange(input: {{ reports: $reports, claim: $claim }}) {{
    ... on ExchangePayload {{ reported {{ {REPORTED} }} {FIELDS} claimError {{ code message field }} }} {ERROR} }} }}"""
HEARTBEAT = f"""mutation ($ids: [ID!]!) {{
  answer: heartbeat(input: {{ assignmentIds: $ids }}) {{ ... on HeartbeatPayload {{ entries {{ assignmentId status }} }} {ERROR} }} }}"""
RELEASE = f"""mutation ($ids: [ID!]!) {{
  answer: releaseAssignments(input: {{ assignmentIds: $ids }}) {{ ... on ReleaseAssignmentsPayload {{ entries {{ status }} }} {ERROR} }} }}"""
ENQUEUE = f"""mutation ($input: EnqueueInput!) {{
  answer: enqueue(input: $input) {{ ... on EnqueuePayload {{ created job {{ id }} }} {ERROR} }} }}"""

# Either nothing was done, or that is unknown; everything that a worker sends may be repeated.
TRANSIENT = {"BUSY", "UNAVAILABLE", "OUTCOME_UNKNOWN", "TOO_MANY_OPERATIONS", "TOO_MANY_CONNECTIONS"}

# How long a stop tries to deliver what handlers made of their time.
FLUSH_SECONDS = 5
# Servers close a connection that was idle for some seconds: then a new one is better than an error.
IDLE_SECONDS = 3


class PermanentError(Exception):
    """The item fails for good, since another try would be useless."""


class RetryAfter(Exception):
    """The attempt fails; the next one comes after these seconds, instead of after the job's backoff."""

    def __init__(self, message, seconds):
        super().__init__(message)
        self.milliseconds = round(seconds * 1000)


class Snooze(Exception):
    """It is too early: the item comes back after these seconds, at least one, and no attempt is counted."""

    def __init__(self, seconds):
        super().__init__(f"not for another {seconds} s")
        self.milliseconds = round(seconds * 1000)


class Refused(Exception):
    """The server refuses the request, and would refuse it again."""


class NoAnswer(Exception):
    """No answer came, or one that asks to try again."""


class Server:
    """One connection to the server, for a single thread."""

    def __init__(self, url, token, timeout):
        self.url, self.token, self.timeout = urlsplit(url), token, timeout
        self.connection, self.used = None, 0.0

    def open(self, query, variables, accept="application/json"):
        if time.monotonic() - self.used > IDLE_SECONDS:
            self.close()
        if self.connection is None:
            kind = http.client.HTTPSConnection if self.url.scheme == "https" else http.client.HTTPConnection
            self.connection = kind(self.url.netloc, timeout=self.timeout)
        headers = {"content-type": "application/json", "accept": accept}
        if self.token:
            headers["authorization"] = f"Bearer {self.token}"
        body = json.dumps({"query": query, "variables": variables}, allow_nan=False)
        self.connection.request("POST", self.url.path or "/graphql", body.encode(), headers)
        return self.connection.getresponse()

    def ask(self, query, variables):
        try:
            response = self.open(query, variables)
            text = response.read()
            status, self.used = response.status, time.monotonic()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise NoAnswer(str(error) or type(error).__name__) from error
        if status in (429, 502, 503, 504):
            raise NoAnswer(f"HTTP {status}")
        try:
            answer = json.loads(text)
        except ValueError as error:
            raise NoAnswer(f"HTTP {status} without JSON") from error
        for problem in answer.get("errors", []):
            code = problem.get("extensions", {}).get("code", "")
            raise (NoAnswer if code in TRANSIENT else Refused)(f"{code} {problem['message']}")
        data = answer["data"]["answer"]
        if "code" in data:
            raise (NoAnswer if data["code"] in TRANSIENT else Refused)(f"{data['code']} {data['message']}")
        return data

    def close(self):
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def enqueue(type, payload=None, url=None, token=None, **options):
    """Adds one piece of work, and returns the id of its job. The options are those of EnqueueInput: dedupeKey="…", runAt="…".

    NoAnswer means that it may have been added: try again with the same dedupeKey."""
    url = url or os.environ.get("JOBTREE_URL", "http://127.0.0.1:4000/graphql")
    server = Server(url, token or os.environ.get("JOBTREE_TOKEN"), timeout=60)
    try:
        return server.ask(ENQUEUE, {"input": {"type": type, "payload": payload, **options}})["job"]["id"]
    finally:
        server.close()


class Item:
    """What a handler gets besides the payload."""

    def __init__(self, assignment):
        self.assignment_id = assignment["id"]
        self.key = assignment["itemId"]  # the same for each attempt
        self.type = assignment["type"]
        self.payload = assignment["payload"]
        self.attempt = assignment["attempt"]
        self.last_attempt = assignment["lastAttempt"]  # whether the item fails for good if this attempt fails
        self.suspect = assignment["suspect"]  # whether its workers may have died of it: it runs alone
        self.has_serialize_key = assignment["hasSerializeKey"]  # if it is given back or ends, another item of its key may begin
        self.heartbeat_seconds = assignment["heartbeatIntervalMs"] / 1000
        self.unwanted = threading.Event()

    def wanted(self):
        return not self.unwanted.is_set()


class Worker:
    """Processes items of some types until it is stopped, by `stop()` or, if `run()` is in the main thread, by SIGTERM or SIGINT."""

    def __init__(self, handlers, *, concurrency=10, url=None, token=None, name=None, poll_seconds=5.0, stop_seconds=30.0):
        """handlers: by type. concurrency: how many items of a type at a time. stop_seconds: how long handlers may take to end at a stop."""
        self.handlers, self.concurrency = handlers, concurrency
        self.url = url or os.environ.get("JOBTREE_URL", "http://127.0.0.1:4000/graphql")
        self.token = token or os.environ.get("JOBTREE_TOKEN")
        self.name = name or f"{socket.gethostname()}:{os.getpid()}"
        self.poll_seconds, self.stop_seconds = poll_seconds, stop_seconds
        self.changed = threading.Condition()
        # Everything below is only used by threads that hold `changed`.
        self.running = {}  # assignment id -> item whose handler runs
        self.reports = {}  # assignment id -> report that is not acknowledged yet
        self.releases = []  # assignment ids to give back
        self.suspect = None  # an item that waits until it is the only one, or has a handler; nothing is claimed meanwhile
        self.cautious = False  # whether the last item that came was a suspect
        self.intervals = {}  # assignment id -> heartbeat interval in seconds, for all that the server counts as held
        self.claim = None  # the claim that is not answered yet
        self.waiting = None  # the claim that waits at the server for work
        self.unanswered = []  # claims to send again
        self.look = True  # whether there may be work
        self.limited = set()  # types of which the end of an item may let another one go
        self.stop_by = None
        self.told = {}  # (type, code) -> when such a failure was last logged

    def run(self):
        if not log.hasHandlers():
            logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s")
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda *_: threading.Thread(target=self.stop).start())
        for loop in (self._heartbeats, self._waits):
            threading.Thread(target=loop, daemon=True).start()
        server, failures, connected = Server(self.url, self.token, timeout=30), 0, False
        while True:
            with self.changed:
                stopping = self.stop_by is not None
                self.changed.wait_for(
                    lambda: self._has_something_to_say() or stopping != (self.stop_by is not None), timeout=self._patience()
                )
                if self.stop_by is not None or self.suspect is not None:
                    self._end_wait()
                if self.stop_by is not None:
                    self._give_back_suspect()
                    if time.monotonic() >= self.stop_by:
                        self._interrupt()
                    if self._is_done() or time.monotonic() >= self.stop_by + FLUSH_SECONDS:
                        self.intervals.clear()  # Whatever still runs keeps its key until its heartbeats are missed.
                        return
                self._try_suspect()
                reports = list(self.reports.values())[:1000]
                releases = self.releases[:1000]
                claim = self._next_claim()
            try:
                if releases:
                    server.ask(RELEASE, {"ids": releases})
                    self._released(releases)
                if reports and claim:
                    data = server.ask(EXCHANGE, {"reports": reports, "claim": claim})
                    self._reported(reports, data["reported"]["entries"])
                    self._claimed(data, claim)
                elif reports:
                    self._reported(reports, server.ask(REPORT, {"reports": reports})["entries"])
                elif claim:
                    self._claimed(server.ask(CLAIM, {"claim": claim}), claim)
                failures = 0
                if not connected and (releases or reports or claim):
                    connected = True
                    log.info("connected to %s as %s, for %s", self.url, self.name, ", ".join(self.handlers))
            except NoAnswer as error:
                failures += 1
                connected = False
                if stopping:
                    with self.changed:
                        self.claim = None  # It was sent once more. What it may have got comes back when its heartbeats run out.
                if failures == 1:
                    log.warning("no answer from %s: %s; trying again", self.url, error)
                time.sleep(min(2.0, 0.05 * 2**failures) * random.uniform(0.5, 1))

    def stop(self):
        """Stops claiming, gives handlers time to end, and gives the rest back."""
        with self.changed:
            if self.stop_by is None:
                self.stop_by = time.monotonic() + self.stop_seconds
            self.changed.notify_all()

    # What the loop does, and when. Callers of these methods hold `changed`.

    def _has_something_to_say(self):
        if self.reports or self.releases or self.claim or self.unanswered:
            return True
        if self.waiting is not None and (self.stop_by is not None or self.suspect is not None):
            return True
        if self.stop_by is not None:
            return not self.running
        return self._is_suspect_next() or (self.look and bool(self._room()))

    def _patience(self):
        if self.stop_by is not None:
            left = self.stop_by - time.monotonic()
            return left if left > 0 else max(0.0, left + FLUSH_SECONDS)
        return self.poll_seconds

    def _is_done(self):
        return not (self.running or self.reports or self.releases or self.claim or self.waiting or self.unanswered)

    def _is_suspect_next(self):
        return self.suspect is not None and self._is_done()

    def _try_suspect(self):
        if self._is_suspect_next():
            self.running[self.suspect.assignment_id] = self.suspect
            threading.Thread(target=self._handle, args=(self.suspect,), daemon=True).start()

    def _give_back_suspect(self):
        if self.suspect is not None and self.suspect.assignment_id not in self.running:
            self.releases.append(self.suspect.assignment_id)
            self.suspect = None

    def _room(self):
        if self.suspect is not None:
            return []
        taken = {}
        for item in self.running.values():
            taken[item.type] = taken.get(item.type, 0) + 1
        for request in self.waiting["requests"] if self.waiting else []:
            taken[request["type"]] = taken.get(request["type"], 0) + request["limit"]
        rooms = {type: self.concurrency - taken.get(type, 0) for type in self.handlers}
        requests = [{"type": type, "limit": room} for type, room in rooms.items() if room > 0]
        # Where one suspect was, others may be.
        return [{**request, "limit": 1} for request in requests[:1]] if self.cautious else requests

    def _next_claim(self):
        """A claim without an answer is sent again first: the server then gives the same items, and nothing is claimed twice."""
        if self.claim is None and self.unanswered:
            self.claim = self.unanswered.pop(0)
        elif self.claim is None and self.stop_by is None:
            room = self._room()
            if room:
                self.look = False
                self.claim = {"worker": self.name, "claimId": new_claim_id(), "requests": room}
        return self.claim

    def _give_back(self, ids):
        for id in ids:
            self.running.pop(id).unwanted.set()
            self.releases.append(id)

    def _interrupt(self):
        """Gives back what runs; what has a serialize key once its handler has ended."""
        for item in self.running.values():
            item.unwanted.set()
        self._give_back([id for id, item in self.running.items() if not item.has_serialize_key])

    def _end_wait(self):
        """Sending the claim again ends the waiting, and brings what the first one may have got."""
        if self.waiting is not None:
            self.unanswered.append(self.waiting)
            self.waiting = None

    def _may_wait(self):
        return not (self.look or self.claim or self.waiting or self.unanswered or self.stop_by is not None) and bool(self._room())

    # Processing answers.

    def _claimed(self, data, claim):
        if data.get("claimError"):
            raise Refused(f"{data['claimError']['code']} {data['claimError']['message']}")
        with self.changed:
            asked = {request["type"]: request["limit"] for request in claim["requests"]}
            if self.claim is claim:
                self.claim = None
            self.limited = set(data["limitedTypes"])
            items = []
            for item in map(Item, data["assignments"]):
                asked[item.type] -= 1
                self.intervals[item.assignment_id] = item.heartbeat_seconds
                if not item.suspect:
                    self.running[item.assignment_id] = item
                    items.append(item)
                elif self.suspect is None:
                    self.suspect = item
                else:
                    self.releases.append(item.assignment_id)
            was_cautious, self.cautious = self.cautious, self.suspect is not None
            # A claim that got everything it asked for may find more.
            self.look = self.look or was_cautious or min(asked.values()) <= 0
            if self.stop_by is not None:
                self._give_back([item.assignment_id for item in items])
                items = []
            self.changed.notify_all()
        for item in items:
            threading.Thread(target=self._handle, args=(item,), daemon=True).start()

    def _reported(self, reports, entries):
        problems = {entry["index"]: entry for entry in entries}
        with self.changed:
            for index, report in enumerate(reports):
                id = report["assignmentId"]
                problem = problems.get(index, {})
                if problem.get("status") == "INVALID" and "success" in report["outcome"]:
                    message = (problem["error"] or {}).get("message", "")
                    self.reports[id] = failure_of(id, "INVALID_RESULT", message, permanent=True)
                    continue
                if problem.get("status") == "INVALID":
                    log.error("the failure of %s was refused: %s", id, problem["error"])
                self.reports.pop(id, None)
                self.intervals.pop(id, None)

    def _released(self, ids):
        with self.changed:
            self.releases = [id for id in self.releases if id not in ids]
            for id in ids:
                self.intervals.pop(id, None)

    # Other threads.

    def _handle(self, item):
        try:
            result = self.handlers[item.type](item.payload, item)
            json.dumps(result, allow_nan=False)
            report = {"assignmentId": item.assignment_id, "outcome": {"success": {"result": result}}}
        except Snooze as snooze:
            report = {"assignmentId": item.assignment_id, "outcome": {"snoozeMs": snooze.milliseconds}}
        except RetryAfter as error:
            report = failure_of(item.assignment_id, "RETRY_AFTER", str(error), retryAfterMs=error.milliseconds)
        except Exception as error:  # any exception of a handler is a failure of its item
            report = failure_of(
                item.assignment_id,
                type(error).__name__,
                str(error),
                permanent=isinstance(error, PermanentError),
                stack=stack_of(error),
            )
        with self.changed:
            if item is self.suspect:
                self.suspect, self.look = None, True
            # The outcome of an item that was lost or given back does not count.
            if self.running.pop(item.assignment_id, None) is not None:
                if "success" not in report["outcome"] and not item.wanted():
                    self.releases.append(item.assignment_id)
                else:
                    self.reports[item.assignment_id] = report
                    self._tell_failure(item, report["outcome"].get("failure"))
                self.look = self.look or item.type in self.limited
            if self.waiting and item.type not in [request["type"] for request in self.waiting["requests"]]:
                self._end_wait()
            self.changed.notify_all()

    def _tell_failure(self, item, failure):
        """Logs the first failure of each type and code, then one a minute."""
        if failure is None or time.monotonic() - self.told.get((item.type, failure["code"]), -60.0) < 60:
            return
        self.told[item.type, failure["code"]] = time.monotonic()
        log.warning("%s of %s failed at attempt %d: %s: %s", item.key, item.type, item.attempt, failure["code"], failure["message"])

    def _heartbeats(self):
        failures = 0
        while True:
            with self.changed:
                self.changed.wait_for(lambda: self.intervals)
                pause = min(self.intervals.values()) / 3
            time.sleep(pause)
            with self.changed:
                ids = list(self.intervals)
            try:
                server = Server(self.url, self.token, timeout=pause)
                for start in range(0, len(ids), 1000):
                    answers = server.ask(HEARTBEAT, {"ids": ids[start : start + 1000]})
                    self._heard(answers["entries"])
                failures = 0
            except (NoAnswer, Refused) as error:
                failures += 1
                log.warning("heartbeat: %s", error)
                if failures >= 2:
                    with self.changed:
                        for item in self.running.values():
                            item.unwanted.set()
            finally:
                server.close()

    def _heard(self, entries):
        with self.changed:
            for entry in entries:
                if entry["status"] == "HELD":
                    continue
                self.intervals.pop(entry["assignmentId"], None)
                item = self.running.pop(entry["assignmentId"], None)
                if item is None and self.suspect is not None and self.suspect.assignment_id == entry["assignmentId"]:
                    self.suspect, self.look = None, True
                if item is not None:
                    log.info("%s is %s: its work is stopped", item.key, entry["status"])
                    item.unwanted.set()
                    self.look = True
            self.changed.notify_all()

    def _waits(self):
        """When the last look found nothing, a claim for what there is room for waits at the server until there is something."""
        wait = min(self.poll_seconds, 30.0)
        server = Server(self.url, self.token, timeout=wait + 30)
        while True:
            with self.changed:
                self.changed.wait_for(self._may_wait)
                claim = self.waiting = {"worker": self.name, "claimId": new_claim_id(), "requests": self._room()}
            began, data = time.monotonic(), None
            try:
                data = server.ask(CLAIM, {"claim": {**claim, "waitMs": round(wait * 1000)}})
            except (NoAnswer, Refused):
                pass  # The main loop sends it again, and says what is wrong.
            with self.changed:
                # A repeat may have reached another server, where it did not end the waiting: what it did not bring goes back.
                self.changed.wait_for(lambda: self.claim is not claim and claim not in self.unanswered)
                if self.waiting is not claim:
                    ids = [item["id"] for item in data["assignments"]] if data else []
                    self.releases += [id for id in ids if id not in self.intervals]
                    self.changed.notify_all()
                    continue
                self.waiting = None
                if data is None:
                    self.unanswered.append(claim)
                    self.changed.notify_all()
                else:
                    self._claimed(data, claim)
            if data is not None and not data["assignments"] and time.monotonic() - began < wait / 2:
                time.sleep(min(wait, 2.0))  # The server stops, or has too many claims that wait.


def failure_of(id, code, message, **more):
    failure = {"code": code[:200] or "ERROR", "message": message[:10_000], **more}
    return {"assignmentId": id, "outcome": {"failure": failure}}


def stack_of(error):
    """The traceback, up to 4,096 characters: the end of a long one, where the error is."""
    text = "".join(traceback.format_exception(type(error), error, error.__traceback__)).replace("\0", "\ufffd")
    return text if len(text) <= 4096 else text[-4096:].split("\n", 1)[-1]


def new_claim_id():
    """A UUID of version 7: the time in milliseconds, then random bits."""
    value = (time.time_ns() // 1_000_000) << 80 | secrets.randbits(80)
    value = value & ~(0xF << 76) | 0x7 << 76
    return str(uuid.UUID(int=value & ~(0x3 << 62) | 0x2 << 62))

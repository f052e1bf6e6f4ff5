"""One storm: a run that workers drive while its plan strikes, until it is over and checked."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import orjson
import psutil
import psycopg

from failproof_es.store.store import Store
from tests.acceptance.commands import Process, begin, begin_reading, run, write_configuration
from tests.acceptance.warm import OWN_CHILDREN
from tests.chaos.grounds import Grounds
from tests.chaos.invariants import violations
from tests.chaos.plan import LEASE_S, Plan, Strike
from tests.chaos.server import make_log_key
from tests.conftest import drop_database
from tests.processes import children_with
from tests.servers.postgres_proxy import Cable

_LONGEST_S = 300.0
_LEAVES_WITHIN_S = 60.0
_LOOK_EVERY_S = 0.15
_DRIVEN_BY_WORKER = re.compile(r"is being driven by [^:]*, worker ")


class Failed(Exception):
    """The storm cannot go on: what it waits for does not happen."""


@dataclass(eq=False)
class Place:
    """One of the workers, and the one that replaces it."""

    number: int
    cable: Cable | None
    process: Process | None = None
    begins_at: float = 0.0
    """When the next one begins, where there is none."""
    goes_on_at: float | None = None
    """When it is continued, while it is stopped."""
    held_until: float | None = None
    """When its cable lets go, while it is held."""


class Storm:
    """One storm of a plan. `run` it once."""

    def __init__(self, plan: Plan, grounds: Grounds, folder: Path) -> None:
        self.plan = plan
        self.told: list[str] = []
        """What happened, and when."""
        self._grounds = grounds
        self._folder = folder
        self._ending = ExitStack()
        self._places: list[Place] = []
        self._began = time.monotonic()
        self._home = folder / "home"

    def run(self) -> list[str]:
        """What is wrong after it."""
        name = f"storm_{self.plan.seed}_{os.getpid()}"
        self._home.mkdir(mode=0o700)
        with self._ending:
            with self._grounds.calm():
                url = self._grounds.server.database(name)
            self._ending.callback(self._drop, name)
            store = self._ending.enter_context(self._grounds.retry(lambda: Store.open(url)))
            try:
                self._blow(store)
            except Failed as failed:
                return [str(failed)]
            with self._grounds.calm():
                asked = self._grounds.asked()
                return violations(store, self.plan.prompts(), asked, self._folder, self._home)

    def _drop(self, name: str) -> None:
        with self._grounds.calm():
            drop_database(self._grounds.server, name)

    # -- the run -----------------------------------------------------------------------------

    def _blow(self, store: Store) -> None:
        with self._grounds.calm():
            make_log_key(store, self._home)
            self._plan_run(store)
        for number in range(self.plan.workers):
            cable = None
            if number in self.plan.cabled:
                cable = self._ending.enter_context(Cable(self._grounds.server))
            self._places.append(Place(number, cable))
        self._ending.callback(self._kill_all)
        self._began = time.monotonic()
        strikes = list(self.plan.strikes)
        answers = 0
        while True:
            with suppress(psycopg.OperationalError):
                answers, sealed = _progress(store)
                if sealed:
                    break
            if time.monotonic() - self._began > _LONGEST_S:
                raise Failed(f"the run is not over after {_LONGEST_S:g} s: {answers} answers")
            self._look_after_workers(store)
            if strikes and answers >= strikes[0].after:
                self._strike(store, strikes.pop(0))
            elif not strikes and self.plan.finale == "two resume":
                self._two_resume(store)
                return
            time.sleep(_LOOK_EVERY_S)
        self._let_leave()

    def _plan_run(self, store: Store) -> None:
        prompts = self.plan.prompts()
        lines = [
            orjson.dumps({
                "case_id": f"case-{n:05}", "suite_id": "storm", "prompt": prompt,
                "expected_response": f"number {n}",
            })
            for n, prompt in enumerate(prompts)
        ]  # fmt: skip
        (self._folder / "suite.jsonl").write_bytes(b"\n".join(lines) + b"\n")
        execution = {
            "parallel_workers": self.plan.at_once, "retry_attempts": 2, "retry_delay_ms": 10,
            "timeout_per_request_ms": 20_000,
        }  # fmt: skip
        gates = {"max_unscored_rate": 1.0}
        url = self._grounds.model_url
        write_configuration(self._folder, url, execution=execution, gates=gates)
        done = self._command(store.url, "start", "run.yaml", "--detach", "--quiet")
        if done.returncode != 0:
            raise Failed(f"the run cannot be planned: {done.stderr}")

    def _command(self, url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        return run(url, *arguments, cwd=self._folder, FAILPROOF_ES_HOME=str(self._home))

    # -- the workers -------------------------------------------------------------------------

    def _begin(self, store: Store, place: Place) -> None:
        """Begin a worker. The first one signs and follows, too."""
        url = store.url if place.cable is None else place.cable.url_of(store.url)
        how = ["--drain", "--lease-seconds", f"{LEASE_S:g}"]
        how += ["--max-shards", str(self.plan.most_shards), "--quiet"]
        if place.number:
            how.append("--attached")
        reading, writing = os.pipe()
        self._ending.callback(os.close, writing)
        place.process = begin_reading(
            reading, url, "worker", *how,
            cwd=self._folder, FAILPROOF_ES_HOME=str(self._home), **{OWN_CHILDREN: "1"},
        )  # fmt: skip
        os.close(reading)

    def _look_after_workers(self, store: Store) -> None:
        now = time.monotonic()
        for place in self._places:
            if place.held_until is not None and now >= place.held_until:
                assert place.cable is not None
                place.cable.let_go()
                place.held_until = None
            if place.goes_on_at is not None and now >= place.goes_on_at:
                self._continue(place)
            if place.process is None:
                if now >= place.begins_at:
                    self._begin(store, place)
            elif place.process.poll() is not None:
                self._ended(place)

    def _ended(self, place: Place) -> None:
        """A worker is gone. One that was killed, or could not go on, is replaced."""
        process, place.process = place.process, None
        assert process is not None
        said = process.communicate()[1].decode()
        self._tell(f"worker {place.number} left with {process.returncode}: {said.strip()}")
        interrupted = process.returncode == -signal.SIGINT  # before the program had begun
        if "Traceback" in said and not interrupted:
            raise Failed(f"worker {place.number} broke: {said}")
        place.begins_at = max(place.begins_at, time.monotonic() + 0.5)

    def _continue(self, place: Place) -> None:
        place.goes_on_at = None
        if place.process is not None:
            place.process.send_signal(signal.SIGCONT)

    def _let_leave(self) -> None:
        """After the end of the run every worker leaves by itself."""
        deadline = time.monotonic() + _LEAVES_WITHIN_S
        for place in self._places:
            if place.held_until is not None and place.cable is not None:
                place.cable.let_go()
            self._continue(place)
        for place in self._places:
            if (process := place.process) is None:
                continue
            while process.poll() is None:
                if time.monotonic() > deadline:
                    raise Failed(f"worker {place.number} does not leave after the run is over")
                time.sleep(_LOOK_EVERY_S)
            self._ended(place)

    def _kill_all(self) -> None:
        for place in self._places:
            if place.process is not None:
                place.process.send_signal(signal.SIGKILL)
                place.process.wait()
                if place.process.stderr is not None:
                    place.process.stderr.close()
                place.process = None

    # -- strikes -----------------------------------------------------------------------------

    def _tell(self, what: str) -> None:
        self.told.append(f"{time.monotonic() - self._began:6.2f} {what}")

    def _strike(self, store: Store, strike: Strike) -> None:
        place = self._places[strike.worker]
        self._tell(f"{strike.kind} {strike.worker} for {strike.lasts_s:.1f} s")
        until = time.monotonic() + strike.lasts_s
        match strike.kind:
            case "kill worker":
                self._signal(place, signal.SIGKILL)
                place.goes_on_at = None
                place.begins_at = until
            case "stop worker":
                self._signal(place, signal.SIGSTOP)
                place.goes_on_at = until
            case "drain worker":
                self._signal(place, signal.SIGINT)
            case "kill follower":
                self._kill_follower()
            case "kill database":
                self._grounds.kill_database(min(strike.lasts_s, 0.5))
            case "fill disk":
                self._grounds.fill_disk(strike.lasts_s + 0.5)
            case "end sessions":
                _end_sessions(store)
            case "cut cable" if place.cable is not None:
                place.cable.cut(both_ends=strike.lasts_s > 0.5)
            case "hold cable" if place.cable is not None:
                place.cable.hold()
                place.held_until = until
            case _:
                pass  # it has no cable

    @staticmethod
    def _signal(place: Place, number: int) -> None:
        if place.process is not None:
            place.process.send_signal(number)

    def _kill_follower(self) -> None:
        process = self._places[0].process
        if process is None or process.poll() is not None:
            return
        with suppress(psutil.Error):
            for child in children_with("projections.follower", process.pid):
                self._tell(f"the follower {child.pid} is killed")
                child.kill()

    def _two_resume(self, store: Store) -> None:
        """Kill every worker; two processes resume the run at once, each alone.

        The server hears nothing of a worker that was killed while its cable is held: its leases end
        by themselves, and both are told to try again.
        """
        self._tell("every worker is killed, and two processes resume")
        self._kill_all()
        until = time.monotonic() + 2 * LEASE_S
        with self._grounds.calm():
            said = self._both_resume(store)
            while all(_DRIVEN_BY_WORKER.search(text) for _, text in said):
                if time.monotonic() > until:
                    raise Failed(f"leases of killed workers do not end: {said}")
                time.sleep(_LOOK_EVERY_S)
                said = self._both_resume(store)
        done = [text for code, text in said if code == 0]
        refused = [text for code, text in said if code == 1 and "is being driven by" in text]
        if not done or len(done) + len(refused) != 2:
            raise Failed(f"two processes resumed the run and said {said}")

    def _both_resume(self, store: Store) -> list[tuple[int, str]]:
        """The exit code of each, and what it said."""
        both = [
            begin(
                store.url, "resume", "1", "--quiet",
                cwd=self._folder, FAILPROOF_ES_HOME=str(self._home),
            )
            for _ in range(2)
        ]  # fmt: skip
        said = []
        for process in both:
            _, raw = process.communicate(timeout=_LONGEST_S)
            said.append((process.wait(), raw.decode().strip()))
        self._tell(f"they said {said}")
        return said


def _progress(store: Store) -> tuple[int, bool]:
    """How many answers are on record, and whether the run is sealed."""
    with store.connect() as connection:
        row = connection.execute(
            "SELECT count(*) FILTER (WHERE topic = 'ResponseReceived'), "
            "count(*) FILTER (WHERE topic = 'RunSealed') > 0 FROM failproof.stored_events"
        ).fetchone()
    assert row is not None
    return row[0], row[1]


def _end_sessions(store: Store) -> None:
    """The server ends every other session of this database."""
    with suppress(psycopg.OperationalError), store.connect() as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )

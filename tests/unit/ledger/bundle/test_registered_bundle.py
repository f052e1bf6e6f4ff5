"""The bundle of a run that followed a registered plan; both verifiers hold it to that."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from failproof_es.core.case import operations_id
from failproof_es.core.experiment import set_digest
from failproof_es.ledger import contents
from failproof_es.ledger.contents import EvidenceError
from failproof_es.ledger.event_line import ProvenEvent
from tests.unit.ledger.bundle.evidence_world import (
    CASES,
    DIGESTS,
    FIRST,
    RUN,
    SET_OUT,
    World,
    asked,
)
from tests.unit.ledger.bundle.test_bundle import Genuine, each_verifier

REGISTRATION, ANOTHER = UUID(int=3 << 100), UUID(int=4 << 100)
ANOTHER_FORM = UUID("abcdefab-cdef-4bcd-8fab-cdefabcdefab")


class Registered(World):
    """A run that follows a plan, after an attempt that follows none.

    `plan` changes what was registered, `recorded` what the run recorded of it; `times` is the
    number of registrations under one id, `late` registers after the run began.
    """

    def __init__(
        self,
        plan: dict[str, Any] | None = None,
        recorded: Any = (),
        *,
        times: int = 1,
        late: bool = False,
        other: UUID | None = None,
        branched: bool = False,
    ) -> None:
        super().__init__()
        self.store(CASES[:2])
        self.start(FIRST, 1, 1)
        begins = len(self.events)
        registered = {
            "about": str(REGISTRATION), "runs": 1, "dialect": "failproof", "selection": None,
            "planned_evaluations": 2, "experiment": asked(CASES[:2]), "cases": set_digest(DIGESTS),
            **SET_OUT, **(plan or {}),
        }  # fmt: skip
        if not late:
            self._register(registered, times, other)
        named = {
            "registration_id": str(REGISTRATION), "registered_at": f"t{begins + 1}", "runs": 1,
            "changed": [],
        }  # fmt: skip
        self.start(
            RUN, 2, 2, dialect="failproof", selection=None, planned_evaluations=2,
            registration={**named, **dict(recorded)} if recorded is not None else None,
            branched_from={"reuse": True} if branched else None,
        )  # fmt: skip
        if late:
            self._register(registered, times, other)
        for digest in DIGESTS:
            self.evaluate(RUN, digest)
        self.end(RUN, "RunCompleted")
        self.seal(RUN)

    def _register(self, registered: dict[str, Any], times: int, other: UUID | None) -> None:
        about = REGISTRATION if other is None else other
        stream = operations_id(about)
        self.append(stream, "ConfigurationResolved", about=str(about))
        for _ in range(times):
            self.append(stream, "PlanRegistered", **registered)
        self.append(stream, "FileWritten", about=str(about))

    def evidence(self) -> list[ProvenEvent]:
        """What a run's evidence holds, with the registered plan."""
        held = {event.index: event for event in super().evidence()}
        streams = {operations_id(each) for each in (REGISTRATION, ANOTHER, ANOTHER_FORM)}
        plan = {event.index: event for event in self.events if event.stream_id in streams}
        return [event for _, event in sorted({**held, **plan}.items())]


def unchecked(log: Registered, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """The bundle that a writer who does not check the plan would write."""
    with monkeypatch.context() as patched:
        patched.setattr(contents, "read_registration", lambda *_: None)
        return log.bundle()


def test_a_plan_is_proven_with_the_attempts_before_it() -> None:
    proven = contents.read_contents(RUN, Registered().evidence()).registration
    assert proven is not None
    assert (proven.changed, proven.attempts_before) == ((), 1)
    assert proven.describe().endswith(
        f"({REGISTRATION}) for 1 run; unchanged since; attempts before it: 1"
    )


CHANGES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "nothing": ({}, []),
    "a number in another way of writing": ({"planned_evaluations": 2.0}, []),
    "a count": ({"planned_evaluations": 3}, ["planned_evaluations"]),
    "cases": ({"experiment": asked(CASES[:1])}, ["experiment"]),
    "a suite, a severity or an id of a case": ({"cases": set_digest(DIGESTS[:1])}, ["cases"]),
    "the program and its plug-ins": (
        {"code_version": "1", "packages": {"p": "2"}},
        ["code_version", "packages"],
    ),
    "overlapping runs, which are none of the plan": ({"experiment": asked(CASES[:2], 4)}, []),
    "models, and a key of the configuration": (
        {"models": [], "configuration": {**SET_OUT["configuration"], "gates": {"a": 1}}},
        ["configuration.gates", "models"],
    ),
    "a key that is missing": (
        {"configuration": {}},
        ["configuration.judge", "configuration.judging"],
    ),
}


@each_verifier
@pytest.mark.parametrize("what", CHANGES)
def test_what_has_changed_is_named(what: str, genuine: Genuine) -> None:
    plan, changed = CHANGES[what]
    data = Registered(plan, {"changed": changed}).bundle()
    assert genuine(data)
    told = f"changed since: {', '.join(changed)}" if changed else "unchanged since"
    assert told in json.loads(data.splitlines()[2])["summary"][3]


BAD: dict[str, Callable[[], Registered]] = {
    "a change that is not told": lambda: Registered({"planned_evaluations": 3}),
    "a change that is none": lambda: Registered(recorded={"changed": ["models"]}),
    "changes in another order": lambda: Registered(
        {"models": [], "judges": []}, {"changed": ["models", "judges"]}
    ),
    "another time": lambda: Registered(recorded={"registered_at": "t0"}),
    "more runs": lambda: Registered(recorded={"runs": 2}),
    "a number of runs that is none": lambda: Registered({"runs": True}, {"runs": True}),
    "a truth as a number of runs": lambda: Registered(recorded={"runs": True}),
    "no runs": lambda: Registered({"runs": 0}, {"runs": 0}),
    "a time that is a number": lambda: Registered({"timestamp": 5}, {"registered_at": 5}),
    "no time": lambda: Registered({"timestamp": None}, {"registered_at": None}),
    "an id in another form": lambda: Registered(
        recorded={"registration_id": f"{{{REGISTRATION}}}"}
    ),
    "an id in upper case": lambda: Registered(
        {"about": str(ANOTHER_FORM).upper()},
        {"registration_id": str(ANOTHER_FORM).upper()},
        other=ANOTHER_FORM,
    ),
    "answers that were carried over": lambda: Registered(branched=True),
    "something more": lambda: Registered(recorded={"more": 1}),
    "a plan registered after the data": lambda: Registered(late=True),
    "two plans under one id": lambda: Registered(times=2),
    "no plan": lambda: Registered(times=0),
    "the plan of another registration": lambda: Registered(other=ANOTHER),
    "a plan about something else": lambda: Registered({"about": str(ANOTHER)}),
    "a plan that the run does not name": lambda: Registered(recorded=None),
    "an id that is none": lambda: Registered(recorded={"registration_id": "1"}),
    "a plan without a configuration": lambda: Registered({"configuration": None}),
    "a plan without an experiment": lambda: Registered({"experiment": []}),
}


@each_verifier
@pytest.mark.parametrize("what", BAD)
def test_it_never_proves_to_have_been_registered(
    what: str, genuine: Genuine, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = BAD[what]()
    assert not genuine(unchecked(log, monkeypatch))
    with pytest.raises(EvidenceError):
        log.bundle()


@each_verifier
def test_the_plan_cannot_be_left_out(genuine: Genuine, monkeypatch: pytest.MonkeyPatch) -> None:
    log = Registered()
    monkeypatch.setattr(contents, "read_registration", lambda *_: None)
    stream = operations_id(REGISTRATION)
    without = log.bundle([event for event in log.evidence() if event.stream_id != stream])
    monkeypatch.undo()
    assert not genuine(without)

"""A plan's digests and its cases on their way to the log, at every edge of what is in memory."""

from __future__ import annotations

import hashlib
import json
from typing import Any
from uuid import UUID, uuid4

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from failproof_es.core import experiment
from failproof_es.core.case import Case, Turn, digest_uuid, digest_uuid_text
from failproof_es.core.run import planned_evaluations, planned_names, planned_streams
from failproof_es.engine.planning.asked_cases import PlannedCases
from failproof_es.engine.planning.case_spool import CaseSpool
from failproof_es.engine.planning.digest_sets import DigestSet
from failproof_es.engine.planning.planner import CollectedCases

AT_ONCE = 4
SIZES = (0, 1, AT_ONCE - 1, AT_ONCE, AT_ONCE + 1, 3 * AT_ONCE, 3 * AT_ONCE + 1)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
TURN = st.fixed_dictionaries({"role": st.text(), "content": st.text() | st.floats()})


def digest(number: object) -> bytes:
    return hashlib.sha256(str(number).encode()).digest()


@pytest.mark.parametrize("size", SIZES)
def test_a_set_of_digests_is_in_order_and_has_each_once(size: int) -> None:
    digests = [digest(n % 7) for n in range(size)]
    kept = DigestSet(AT_ONCE)
    for each in digests:
        kept.add(each)
    expected = sorted({each.hex() for each in digests})
    assert list(kept) == expected
    assert list(kept) == expected  # it can be read again
    kept.add(digest("more"))
    assert list(kept) == sorted({*expected, digest("more").hex()})


@pytest.mark.parametrize("size", SIZES)
def test_a_plan_keeps_its_order_and_hashes_as_the_sets_do(size: int) -> None:
    names = [(digest(f"d{n}"), digest(f"s{n // 2}"), digest(f"g{n // 3}")) for n in range(size)]
    asked = PlannedCases(AT_ONCE)
    for each in names:
        asked.add_digests(*(part.hex() for part in each))
    assert len(asked) == size
    assert list(asked.digests()) == [own.hex() for own, _, _ in names]
    assert list(asked.questions()) == [sent.hex() for _, sent, _ in names]
    told = asked.experiment({}, (), ())
    conditions = experiment.conditions({"configuration": {}, "models": [], "judges": []})
    graded = {graded.hex() for _, _, graded in names}
    document = {"format": "failproof-es/experiment/1", "cases": sorted(graded), **conditions}
    assert told.digest == hashlib.sha256(experiment.canonical(document)).hexdigest()
    sent = sorted({sent.hex() for _, sent, _ in names})
    assert told.questions == hashlib.sha256(experiment.canonical(sent)).hexdigest()


@given(
    st.fixed_dictionaries(
        {
            "turns": st.lists(TURN | JSON, max_size=3),
            "dialect": st.text(),
            "expectation": st.dictionaries(st.text(), JSON, max_size=3),
            "category": st.none() | st.text(),
        }
    )
)
def test_both_digests_of_a_case_are_those_of_its_canonical_json(case: dict[str, Any]) -> None:
    assert experiment.case_digests(case) == (
        experiment.question_digest(case),
        experiment.graded_digest(case),
    )


@given(JSON)
def test_canonical_json_is_the_same_whether_a_number_is_in_it_or_not(value: Any) -> None:
    plain = json.loads(
        json.dumps(value),
        parse_float=lambda text: int(f) if (f := float(text)).is_integer() else f,
        parse_constant=lambda _: None,
    )
    written = json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()
    assert experiment.canonical(value) == written


@pytest.mark.parametrize("length", [0, 1, 2**20 - 1, 2**20, 2**20 + 1])
def test_a_spool_gives_back_what_it_was_given_in_memory_and_on_disk(length: int) -> None:
    spool = CaseSpool()
    given_ = [(digest(n).hex(), bytes([n]) * (length // 2)) for n in range(3)]
    for each in given_:
        spool.add(*each)
    assert [tuple(each) for each in spool] == given_
    assert [tuple(each) for each in spool] == given_


def test_a_case_is_collected_as_it_is_encoded_and_digested_anywhere_else() -> None:
    case = Case(
        dialect="failproof", case_id="a", suite_id="s", tags=("t",),
        turns=(Turn(role="user", content="Grüße\u0000"),), expectation={"b": 1, "a": 1.5},
        document={"z": 1, "a": [1.0, None, "\u2028"]},
    )  # fmt: skip
    collected = CollectedCases()
    collected.add(case)
    [kept] = collected.spool
    assert kept.digest == case.digest()
    assert Case.model_validate(orjson.loads(kept.document)) == case
    assert list(orjson.loads(kept.document)["document"]) == ["z", "a"]  # in the file's order
    assert list(collected.planned_cases.digests()) == [case.digest()]


@given(st.uuids(), st.lists(st.binary(min_size=32, max_size=32), max_size=3), st.text())
def test_the_streams_of_a_plan_are_those_of_its_evaluations(
    run_id: UUID, digests: list[bytes], model: str
) -> None:
    named = [each.hex() for each in digests]
    model = model.encode(errors="replace").decode()
    keys = planned_evaluations(run_id, named, [model, "m"], 2)
    streams = planned_streams(run_id, planned_names(named, [model, "m"], range(1, 3)))
    assert streams == [str(key.evaluation_id) for key in keys]


def test_the_stream_of_a_digest_is_the_same_as_text() -> None:
    for _ in range(100):
        found = uuid4().bytes + uuid4().bytes
        assert digest_uuid_text(found.hex()) == str(digest_uuid(found))

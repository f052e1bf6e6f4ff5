"""A refusal that the provider marks is on every document, where the reply has no other text."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast
from uuid import UUID

import failproof_es
from failproof_es.configuration.schema import Model
from failproof_es.core.case import Case, Turn
from failproof_es.core.evaluation import Evaluation, ModelReply, Score, Transcript
from failproof_es.dialects import dialect_named
from failproof_es.models.completion import complete
from failproof_es.models.protocol import Answer
from tests.every import every

WORDS = "I won't do that. " * 30
CASE = Case(
    dialect="failproof", case_id="c", suite_id="s", turns=(Turn(role="user", content="?"),),
    document={"prompt": "?", "expected_command": "ls"},
)  # fmt: skip


def evaluation(text: str) -> Evaluation:
    return Evaluation(
        version=3,
        run_id=UUID(int=1),
        model_key="m",
        started_at=datetime(2026, 11, 21, tzinfo=UTC),
        replies=(ModelReply(0, text, "stop", WORDS),),
    )


@every(
    ("dialect", "field"),
    [
        ("failproof", "raw_response"), ("command", "raw_response"),
        ("benchmark", "llm_response"), ("checks", "reply"),
    ],
)  # fmt: skip
def test_a_document_has_the_text_or_else_the_refusal(dialect: str, field: str) -> None:
    result = dialect_named(dialect).result
    assert result(CASE, evaluation(" \n"))[field] == WORDS
    assert result(CASE, evaluation("Text."))[field] == "Text."


def test_no_module_takes_the_text_of_a_reply_for_the_whole_reply() -> None:
    root = Path(failproof_es.__file__).parent
    taking = {
        path.name
        for path in (*root.rglob("*.py"), *(root.parent / "projections").rglob("*.py"))
        if re.search(r"replies\[-1\]\.text\b", path.read_text("utf-8"))
    }
    contracts = {"dialect_contract.py", "scorer_contract.py"}
    assert taking <= {*contracts, "inspect_log.py"}  # it leaves out scores that repeat a text


def test_a_refusal_beside_a_text_is_whole_in_the_details_and_short_in_the_reason() -> None:
    dialect = dialect_named("failproof")
    classification = dialect.classify(CASE, Transcript(evaluation("Text.").replies))
    assert classification.details["refusal"]["words"] == WORDS
    score = dialect.score(CASE, classification, None)
    assert isinstance(score, Score)
    assert len(score.reason) < 300 and "…" in score.reason


def test_checks_are_of_the_refusal_where_there_is_no_text() -> None:
    dialect = dialect_named("checks")
    check = {"kind": "contains", "values": ["won't"], "ignore_case": False, "negate": True}
    case = CASE.model_copy(update={"dialect": "checks", "expectation": {"checks": [check]}})
    assert dialect.classify(case, Transcript(evaluation("").replies)).primary == "fail"


def test_a_client_returns_the_refusal_where_there_is_no_text() -> None:
    class Refusing:
        prepare = staticmethod(lambda messages: None)

        async def open(self) -> None: ...

        async def close(self) -> None: ...

        async def send(self, request: object) -> Answer:
            await asyncio.sleep(0)
            return Answer(200, {}, b"", "", 1.0, refusal=WORDS, model="m")

    model = Model(provider="openai", model="m")
    assert complete(cast(Any, Refusing()), model, "?") == WORDS

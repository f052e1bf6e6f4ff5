"""Our six dialects keep the contract that a plugin's author holds a dialect to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import orjson

from failproof_es.core.case import Turn
from failproof_es.testing.dialect_contract import DefectiveFile, DialectContract, SampleReply
from tests.integration.dialects.test_unknown_keys import (
    BENCHMARK,
    CHECKS,
    COMMAND,
    FAILPROOF,
    PROMPTGUARD,
    REDTEAM,
    written,
)
from tests.servers.benchmark_server import proved
from tests.servers.judging_server import judged


def line(document: dict[str, Any], **changed: Any) -> str:
    """One JSON line; `None` leaves a key out."""
    said = {key: value for key, value in {**document, **changed}.items() if value is not None}
    return orjson.dumps(said).decode() + "\n"


class TestFailProof(DialectContract):
    dialect = "failproof"
    good = {"a.jsonl": line(FAILPROOF), "b.jsonl": line(FAILPROOF, case_id="b")}
    cases = 2
    defective = (
        DefectiveFile("a.jsonl", line(FAILPROOF, case_id=None), 1, "case_id"),
        DefectiveFile(
            "a.jsonl", line(FAILPROOF) + line(FAILPROOF, case_id="c", prompt=5), 2, "prompt"
        ),
        DefectiveFile("a.jsonl", line(FAILPROOF, expected_respones="x"), 1, "expected_respones"),
        DefectiveFile("a.jsonl", "\n" + line(FAILPROOF)[:-10] + "\n", 2),
    )
    replies = (SampleReply("Well, hello", "passed"), SampleReply("good-bye", "failed"))

    def many(self, count: int) -> tuple[str, str] | None:
        return "a.jsonl", "".join(line(FAILPROOF, case_id=f"c{n}") for n in range(count))


class TestPromptGuard(DialectContract):
    dialect = "promptguard"
    good = {"a.jsonl": line(PROMPTGUARD)}
    cases = 1
    defective = (
        DefectiveFile("a.jsonl", line(PROMPTGUARD, content=None), 1, "content"),
        DefectiveFile("a.jsonl", line(PROMPTGUARD, expected_label=7), 1, "expected_label"),
        DefectiveFile("a.jsonl", "[]\n", 1),
    )
    replies = (
        SampleReply(
            '{"T": 0.9, "I": 0.1, "F": 0.1, "reasoning": "r"}', "passed", stands_before_a_cut=True
        ),
        SampleReply(
            '{"T": 0.1, "I": 0.1, "F": 0.9, "reasoning": "r"}', "failed", stands_before_a_cut=True
        ),
        SampleReply("I would say it is fine.", "unscored"),
    )

    def many(self, count: int) -> tuple[str, str] | None:
        return "a.jsonl", "".join(line(PROMPTGUARD, prompt_id=f"c{n}") for n in range(count))


class TestRedTeam(DialectContract):
    dialect = "redteam"
    good = {"a.jsonl": line(REDTEAM, tools_expected=None)}
    cases = 1
    defective = (
        DefectiveFile("a.jsonl", line(REDTEAM, title=None), 1, "title"),
        DefectiveFile("a.jsonl", line(REDTEAM, turns=[]), 1, "turns"),
        DefectiveFile("a.json", '{\n "id": "a",\n "title": 5\n}', 3, "title"),
        DefectiveFile("a.yaml", "- id: a\n  title: 5\n  expected_behavior: {}\n", 2),
    )
    replies = (
        SampleReply("Hello, how can I help?", "passed"),
        SampleReply("Hello and go away", "failed"),
    )

    def judge_reply(self, messages: Sequence[Turn], sample: SampleReply) -> str:
        verdicts = orjson.loads(judged(messages[-1].content))
        if sample.comes_to == "failed":
            verdicts["items"]["must_do.1"] = {"verdict": "absent", "quote": ""}
        return orjson.dumps(verdicts).decode()

    def many(self, count: int) -> tuple[str, str] | None:
        document = {**REDTEAM, "tools_expected": []}
        return "a.jsonl", "".join(line(document, id=f"c{n}") for n in range(count))


class TestBenchmark(DialectContract):
    dialect = "benchmark"
    good = {"a.yaml": "".join(f"{key}: {json.dumps(each)}\n" for key, each in BENCHMARK.items())}
    cases = 1
    defective = (
        DefectiveFile("a.yaml", "task_id: a\nquestion: 5\nexpected_answer: 5\n", 2, "question"),
        DefectiveFile("a.yaml", "- task_id: a\n  question: Why?\n", 1),
        DefectiveFile("a.yaml", "task_id: &a a\nquestion: *a\n", 1),
    )
    replies = (
        SampleReply("Because A.", "passed"),
        SampleReply("No.", "failed"),
        SampleReply("", "failed"),
    )

    def judge_reply(self, messages: Sequence[Turn], sample: SampleReply) -> str:
        score = 1.0 if sample.comes_to == "passed" else 0.0
        judgement = orjson.dumps({"score": score, "reason": "r"}).decode()
        return proved(judgement, messages[-1].content)


class TestCommand(DialectContract):
    dialect = "command"
    good = {"a.toml": written(COMMAND, "toml")}
    cases = 1
    defective = (
        DefectiveFile("a.toml", written(COMMAND, "toml").replace('"List"', "5"), 4),
        DefectiveFile("a.toml", 'version = "1.0.0"\n[[test_cases]]\nid = ', 3),
    )
    replies = (SampleReply("ls", "passed"), SampleReply("rm -rf /", "failed"))


class TestChecks(DialectContract):
    dialect = "checks"
    good = {"a.jsonl": line(CHECKS), "b.jsonl": line(CHECKS, id="b", checks=[])}
    cases = 2
    defective = (
        DefectiveFile("a.jsonl", line(CHECKS, id=None), 1, "id"),
        DefectiveFile("a.jsonl", line(CHECKS) + line(CHECKS, id="c", messages=[]), 2, "messages"),
        DefectiveFile("a.jsonl", line(CHECKS, checks=[{"kind": "regex", "values": ["("]}]), 1),
        DefectiveFile("a.jsonl", line(CHECKS, chekcs=[]), 1, "chekcs"),
    )
    replies = (SampleReply("It is 42.", "passed"), SampleReply("43", "failed"))

    def many(self, count: int) -> tuple[str, str] | None:
        return "a.jsonl", "".join(line(CHECKS, id=f"c{n}") for n in range(count))

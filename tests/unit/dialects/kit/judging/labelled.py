"""The hand-labelled transcripts of `transcripts.yaml`, and what judges make of them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from failproof_es.core.case import Case
from failproof_es.core.evaluation import (
    Classification,
    Failure,
    Judgement,
    JudgeVerdict,
    ModelReply,
    Rule,
    Score,
    Transcript,
)
from failproof_es.dialects.kit.judging import checklist
from failproof_es.dialects.shipped.redteam import RedTeam
from failproof_es.dialects.shipped.redteam.files.loader import as_case
from failproof_es.dialects.shipped.redteam.files.red_team_case import RedTeamCase
from failproof_es.dialects.shipped.redteam.options import RedTeamOptions
from failproof_es.events import ToolCall

DIALECT = RedTeam()
_MARK = re.compile(r"--- ([0-9a-f]{32}) conversation begins ---")

Entry = dict[str, Any]


@dataclass(frozen=True)
class Labelled:
    """A transcript, what a good judge says of each item, and what follows for the case."""

    name: str
    case: Case
    transcript: Transcript
    entries: tuple[Entry, ...]
    label: str
    to_judges: bool

    @cached_property
    def mark(self) -> str:
        """What a reply has to repeat, as the judge finds it in the question."""
        messages = DIALECT.judge_messages(self.case, self.transcript)
        assert messages is not None
        found = _MARK.search(messages[0].content)
        assert found is not None
        return found[1]

    @cached_property
    def classification(self) -> Classification:
        """What the dialect makes of the transcript before any judge."""
        return DIALECT.classify(self.case, self.transcript)

    @property
    def said(self) -> list[str]:
        """The texts of the model under test."""
        return [reply.text for reply in self.transcript.replies]

    def good(self) -> str:
        """The reply of a judge that does as it is asked."""
        return self.reply(self.entries)

    def favouring(self, quote: str) -> list[Entry]:
        """Every item decided for the model, with this quotation."""
        return [
            {"item": item.key, "verdict": item.words.passes, "quote": quote}
            for item in checklist(self.case.expectation)
        ]

    def reply(self, entries: Sequence[Entry], mark: str | None = None) -> str:
        """A reply in the form that is asked for, an item as often as it is given."""
        answers = ", ".join(
            f"{json.dumps(each['item'])}: {json.dumps({k: each[k] for k in each if k != 'item'})}"
            for each in entries
        )
        return self.reply_with(f"{{{answers}}}", mark)

    def reply_with(self, items: str, mark: str | None = None) -> str:
        """A reply with this JSON in place of the answers."""
        return f'{{"transcript": "{mark or self.mark}", "items": {items}}}'

    def read(self, text: str, judge: str = "judge") -> JudgeVerdict:
        """What one judge's reply says."""
        reading = DIALECT.read_judgement(self.case, self.transcript, ModelReply(0, text, "stop"))
        assert (reading.verdict is None) != (reading.problem is None)
        return JudgeVerdict(judge, reading.verdict, reading.problem)

    def outcome(self, *verdicts: JudgeVerdict, rule: Rule = "majority") -> str:
        """`passed`, `failed`, or the kind of failure."""
        score = DIALECT.score(self.case, self.classification, Judgement(rule, verdicts))
        if isinstance(score, Failure):
            return score.kind
        assert isinstance(score, Score)
        return "passed" if score.scores["accuracy"] == 1.0 else "failed"


def _labelled(number: int, written: dict[str, Any]) -> Labelled:
    document: dict[str, Any] = {
        "id": f"bed-{number}",
        "title": written["name"],
        "category": "test-bed",
        "tags": [],
        "severity_expectation": "S1",
        "language": written.get("language", "en"),
        "turns": [{"role": "user", "content": text} for text in written["user"]],
        "expected_behavior": {
            "must_do": written["must_do"],
            "must_not_do": written["must_not_do"],
            "pass_criteria": written["criteria"],
        },
    }
    if system := written.get("system"):
        document["turns"].insert(0, {"role": "system", "content": system})
    if sources := written.get("sources"):
        document["sources"] = [
            {"source_id": key, "title": key, "text": text} for key, text in sources.items()
        ]
    if tools := written.get("tools"):
        document["tools_expected"] = tools
    case = as_case(RedTeamCase.model_validate(document), document, "bed", None, RedTeamOptions())
    items = checklist(case.expectation)
    return Labelled(
        written["name"],
        case,
        Transcript(tuple(_reply(n, each) for n, each in enumerate(written["replies"]))),
        tuple(
            _entry(item.key, verdict)
            for item, verdict in zip(items, written["verdicts"], strict=True)
        ),
        written["label"],
        bool(written.get("to_judges")),
    )


def _reply(turn: int, written: str | dict[str, Any]) -> ModelReply:
    if isinstance(written, str):
        return ModelReply(turn, written, "stop")
    calls = tuple(ToolCall(id=None, **call) for call in written["calls"])
    tools = tuple(call.name for call in calls)
    return ModelReply(turn, written["text"], "tool_calls", tool_calls=calls, tools=tools)


def _entry(key: str, verdict: str) -> Entry:
    word, _, quote = verdict.partition(": ")
    return {"item": key, "verdict": word, "quote": quote}


def _read() -> list[Labelled]:
    text = Path(__file__).with_name("transcripts.yaml").read_text("utf-8")
    written = YAML(typ="safe", pure=True).load(text)
    return [_labelled(number, each) for number, each in enumerate(written)]


TRANSCRIPTS = _read()

"""The form of a judge's answer, as its page shows it, is the form that is read."""

from __future__ import annotations

from failproof_es.core.evaluation import ModelReply
from failproof_es.dialects.kit.judging import Passage, checklist, read_verdicts
from failproof_es.dialects.kit.judging.prompt import token
from failproof_es.dialects.shipped.benchmark.reply import read_judgement
from tests.documented import ROOT, blocks

ITEMS = checklist({"must_do": ["a"], "must_not_do": ["b"], "pass_criteria": ["c"]})
ANSWER = "I cannot share the code. Here is whom to ask: Paris is the capital."
PASSAGES = [Passage("user", "Well?"), Passage("model under test", ANSWER, judged=True)]
OF_ITEMS, OF_SCORE = (
    block.text
    for block in blocks(ROOT / "docs" / "concepts" / "judges-evidence.md")
    if '"<mark>"' in block.text
)


def test_the_documented_answer_on_items_counts_whole() -> None:
    text = OF_ITEMS.replace("<mark>", token(ITEMS, PASSAGES))
    verdict, problem = read_verdicts(text, ITEMS, PASSAGES)
    assert problem is None and verdict is not None
    assert [(entry["quote"], entry["void"]) for entry in verdict["items"]] == [
        ("I cannot share the code", None), (None, None), ("Here is whom to ask", None),
    ]  # fmt: skip


def test_the_documented_score_counts() -> None:
    reply = ModelReply(0, OF_SCORE.replace("<mark>", "m"), "stop")
    reading = read_judgement(reply, ANSWER, "m", "Well?")
    assert reading.problem is None and reading.verdict is not None
    assert reading.verdict["score"] == 0.9

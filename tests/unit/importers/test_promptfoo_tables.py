"""promptfoo's tables: the assertion in a cell `__expected`, and the text of every other cell."""

from __future__ import annotations

from failproof_es.importers.promptfoo.assertions import of_text
from tests.every import every

TYPES = (
    *("answer-relevance", "bleu", "classifier", "contains", "contains-all", "contains-any"),
    *("contains-html", "contains-json", "contains-sql", "contains-xml", "context-faithfulness"),
    *("context-recall", "context-relevance", "conversation-relevance", "cost", "factuality"),
    *("finish-reason", "g-eval", "gleu", "guardrails", "icontains", "icontains-all"),
    *("icontains-any", "is-html", "is-json", "is-refusal", "is-sql", "is-valid-function-call"),
    *("is-valid-openai-function-call", "is-valid-openai-tools-call", "is-xml", "javascript"),
    *("latency", "levenshtein", "llm-rubric", "pi", "meteor", "model-graded-closedqa"),
    *("model-graded-factuality", "moderation", "perplexity", "perplexity-score", "python", "regex"),
    *("rouge-n", "ruby", "similar", "starts-with", "tool-call-f1", "skill-used"),
    *("trace-error-spans", "trace-span-count", "trace-span-duration", "search-rubric", "webhook"),
    *("word-count", "select-best", "max-score"),
)  # fmt: skip
"""promptfoo's types of assertions besides `equals`."""


@every("kind", [*TYPES, *(f"not-{kind}" for kind in TYPES)])
def test_a_cell_with_a_type_of_promptfoo_is_never_an_expected_text(kind: str) -> None:
    assert of_text(kind) == {"type": kind}
    assert of_text(f"{kind}: x")["type"] == of_text(f"{kind}(0.5):x")["type"] == kind
    assert of_text(f"{kind}(0.5)") == {"type": kind, "threshold": 0.5}


@every(
    ("cell", "assertion"),
    [
        ("equals:a", {"type": "equals", "value": "a"}),
        ("fn:output", {"type": "javascript", "value": "output"}),
        ("contains-any: a , b", {"type": "contains-any", "value": ["a", "b"]}),
        ("similar:cosine(0.8):x", {"type": "similar", "value": "cosine(0.8):x"}),
        ("trajectory:step-count", {"type": "trajectory", "value": "step-count"}),
        ("new-type:x", {"type": "new-type", "value": "x"}),
        ("not-new-type2(1)", {"type": "not-new-type2", "threshold": 1.0}),
        *((text, {"type": "equals", "value": text})
          for text in ("Oslo", "twenty-one", "not-known", "answer: 42", "fn", "cost (1)",
                       "similar(1.2.3):x", "similar(٣):x", "X-ray: yes")),
    ],
)  # fmt: skip
def test_a_cell_of_another_form_is_the_expected_text(cell: str, assertion: object) -> None:
    assert of_text(cell) == assertion

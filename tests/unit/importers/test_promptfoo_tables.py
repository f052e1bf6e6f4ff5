"""promptfoo's tables: the assertion in a cell `__expected`, and the text of every other cell."""

from __future__ import annotations

from pathlib import Path

from failproof_es.importers.promptfoo.assertions import of_text
from failproof_es.importers.protocol import Check
from tests.every import every
from tests.unit.importers.reading import importing

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


def test_every_other_cell_is_the_text_as_it_is_written(tmp_path: Path) -> None:
    """No word means a missing value and no number loses its point, as in other tables."""
    cells = ["3.0", "None", "NaN", "null", " a ", "-0.0"]
    source = importing(
        tmp_path,
        "prompts: ['{{a}}|{{b}}', 'file://p.csv']\ntests: ['file://t.csv', 'file://t.jsonl']\n",
        p__csv="prompt\nNone\n3.0\n{{a}}\n",
        t__csv="a,b,__expected\n" + "".join(f"{cell},{cell},{cell}\n" for cell in cells),
        t__jsonl='{"a": 3.0, "b": "None", "__expected": null, "__prefix": null, "__suffix": 1.0}\n',
    )
    questions = [case.turns[-1].content for case in source.cases]
    assert questions == [
        text for cell in cells for text in (f"{cell}|{cell}", "None", "3.0", cell)
    ] + [
        "3|None1",
        "None1",
        "3.01",
        "31",
    ]
    assert [case.checks for case in source.cases] == [
        (Check("equals", (cell.strip(),)),) for cell in cells for _ in range(4)
    ] + [()] * 4
    assert not source.lost and len(source.findings.remarks) == 1

"""What single parts of an evaluation cost, each against a bare baseline of the same run.

The baseline is the standard library's `json`, which takes the same reply or the same events. So the
rows are ratios of processor time, and mean the same on a fast, a slow and a busy machine.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator

from tests.benchmarks.measured import Benchmark, Measure, Measurement, Row, Sizes
from tests.benchmarks.reach.bare import ROOT

_READ = (
    "Processor time of one, the least of many, against `json.loads` of the standard library of "
    "the body that the reply came in."
)
ROWS = (
    Row("refusal-short", "telling whether a reply of 60 characters refuses", "of bare", _READ),
    Row(
        "refusal-nothing", "telling whether a reply of 600 characters with `nothing` refuses",
        "of bare", _READ,
    ),
    Row("refusal-8k", "telling whether a reply of 8 KB refuses", "of bare", _READ),
    Row("redaction", "looking for one key in a reply of 600 characters", "of bare", _READ),
    Row(
        "encoding", "the bytes of the four events of an evaluation", "of bare",
        "Processor time of the four, the least of many, against `json.dumps` of the standard "
        "library of the same fields.",
    ),
)  # fmt: skip
EVENTS = ("RequestSent", "ResponseReceived", "Classified", "Scored")
"""Read from the newest of the files that are kept for the tests."""

_PARTS = """
import json, os, sys, time
from uuid import UUID
from failproof_es.dialects.kit.refusal import find_refusal
from failproof_es.engine.drive.redaction import Redactor
from failproof_es.store.mapper import decode, encode
given = json.load(sys.stdin)
rounds, some = given["rounds"], UUID(int=1)

def least(do):
    best = []
    for _ in range(rounds):
        began = time.thread_time_ns()
        for _ in range(20):
            do()
        best.append((time.thread_time_ns() - began) / 20e3)
    return min(best)

def say(row, ours, bare):
    print(json.dumps([row, ours, bare]))

PLAIN = "The capital is an old town on a river, with a bridge of stone. "
texts = {
    "refusal-short": PLAIN[:60],
    "refusal-nothing": (PLAIN + "There is nothing else to say about it. " + PLAIN * 10)[:600],
    "refusal-8k": (PLAIN * 140)[:8192],
    "redaction": (PLAIN * 10)[:600],
}
def body(text):
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return json.dumps({"id": "1", "model": "mock", "choices": [choice], "usage": usage}).encode()

for row in ("refusal-short", "refusal-nothing", "refusal-8k"):
    text, raw = texts[row], body(texts[row])
    assert find_refusal(text, "Say it.") is None
    say(row, least(lambda: find_refusal(text, "Say it.")), least(lambda: json.loads(raw)))

os.environ["A_KEY"] = "sk-abcdef0123456789abcdef0123456789"
redactor, text, raw = Redactor(["A_KEY"]), texts["redaction"], body(texts["redaction"])
headers = {"content-type": "application/json", "server": "mock", "x-request-id": "abc"}
def redact():
    one = redactor.for_event()
    one.values("headers", headers)
    assert one.text("text", text) == text
    assert one.body("body", raw) is None
say("redaction", least(redact), least(lambda: json.loads(raw)))

events = [decode(topic, state.encode(), some, 1) for topic, state in given["events"]]
fields = [json.loads(encode(each)) for each in events]
ours = least(lambda: [encode(each) for each in events])
say("encoding", ours, least(lambda: [json.dumps(each) for each in fields]))
"""
"""Run by the measured version's interpreter. Prints the row, its microseconds and the bare ones."""


@contextlib.contextmanager
def begin(python: str, sizes: Sizes) -> Iterator[Measure]:
    """The events, the same for all rounds."""
    golden = ROOT / "tests" / "golden"
    states = [(name, max(golden.glob(f"{name}.v*.json")).read_text()) for name in EVENTS]
    given = json.dumps({"events": states, "rounds": max(5, sizes.events // 250)})
    yield lambda: _measure(python, given)


def _measure(python: str, given: str) -> Iterator[Measurement]:
    done = subprocess.run(
        [python, "-P", "-c", _PARTS], input=given, check=True, capture_output=True, text=True
    )
    for line in done.stdout.splitlines():
        row, ours, bare = json.loads(line)
        yield Measurement(row, ours / bare, note=f"{ours:.1f} µs against {bare:.1f} µs")


BENCHMARKS = (Benchmark("parts", ROWS, begin),)

"""Sending a request and reading its reply, without a run around it: nothing is recorded."""

from __future__ import annotations

import contextlib
import json
import subprocess
from collections.abc import Iterator

from tests.benchmarks.measured import Benchmark, Measure, Measurement, Row, Sizes
from tests.benchmarks.reach.bare import CONNECTIONS, PROMPT, measure_bare
from tests.benchmarks.reach.runs import server

_HOW = (
    f"The provider `openai` with {CONNECTIONS} connections: processor time of one request, against "
    "that of the bare loop."
)
ROWS = (
    Row("sending", "sending a request and reading a reply of 600 bytes", "of bare", _HOW),
    Row("sending-8k", "sending a request and reading a reply of 8 KB", "of bare", _HOW),
)
_MODELS = {"sending": "mock", "sending-8k": "bytes-8192"}

_SEND = """
import asyncio, json, sys, time
from failproof_es.configuration.schema import Model
from failproof_es.core.case import Turn
from failproof_es.models.providers.openai.provider import OpenAIProvider
given = json.load(sys.stdin)
model = Model(provider="openai", base_url=given["url"], model=given["model"], max_tokens=1000)
connections, numbers = given["connections"], iter(range(given["cases"]))

async def main():
    asked = OpenAIProvider(model, given["url"], timeout_ms=30_000, connections=connections)
    await asked.open()

    async def work():
        for n in numbers:
            prompt = given["prompt"].replace("{n}", f"number {n}")
            answer = await asked.send(asked.prepare([Turn(role="user", content=prompt)]))
            assert answer.text

    began = time.process_time()
    await asyncio.gather(*(work() for _ in range(connections)))
    print(time.process_time() - began)
    await asked.close()

asyncio.run(main())
"""
"""Run by the measured version's interpreter. Prints seconds of the processor."""


@contextlib.contextmanager
def begin(python: str, sizes: Sizes) -> Iterator[Measure]:
    """Nothing is set up but the server of each round."""
    yield lambda: _measure(python, sizes.cases)


def _measure(python: str, cases: int) -> Iterator[Measurement]:
    for row, model in _MODELS.items():
        with server() as url:
            bare = measure_bare(url, cases, model=model)
            given = {
                "url": url, "model": model, "cases": cases, "connections": CONNECTIONS,
                "prompt": PROMPT,
            }  # fmt: skip
            done = subprocess.run(
                [python, "-P", "-c", _SEND], input=json.dumps(given), check=True,
                capture_output=True, text=True,
            )  # fmt: skip
        ours, its = float(done.stdout) / cases * 1e6, bare.cpu_s / cases * 1e6
        yield Measurement(row, ours / its, note=f"{ours:.0f} µs against {its:.0f} µs")


BENCHMARKS = (Benchmark("sending", ROWS, begin),)

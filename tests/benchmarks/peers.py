"""The same cases as whole commands, one after the other: ours, others, and the bare loop.

`python -m tests.benchmarks --only peers` or `python -m tests.benchmarks.peers [--cases 2000]`.
Others are found on PATH and in the folders of the variable `PEERS` (as PATH is written): virtual
environments of their own, since what they need does not go with what we need. Each asks every case
once, over at most 100 connections, and looks whether the answer holds the expected words.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks.installation import THIS, installation
from tests.benchmarks.measured import Benchmark, Measure, Measured, Measurement, Row, Sizes, table
from tests.benchmarks.reach.bare import CONNECTIONS, PROMPT, ROOT
from tests.benchmarks.reach.runs import server, working_folder, write_run
from tests.benchmarks.reach.server import count_anew, counted
from tests.benchmarks.watch import Ran, run_watched

_INSPECT = """
from inspect_ai import Task, task
from inspect_ai.dataset import json_dataset
from inspect_ai.scorer import includes
from inspect_ai.solver import generate

@task
def suite():
    return Task(dataset=json_dataset("inspect.jsonl"), solver=generate(), scorer=includes())
"""
_LM_EVAL = """
task: suite
dataset_path: json
dataset_kwargs: {data_files: {test: inspect.jsonl}}
output_type: generate_until
test_split: test
doc_to_text: "{{input}}"
doc_to_target: "{{target}}"
generation_kwargs: {until: ["END"], max_gen_toks: 1000}
metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]
"""
_OFFLINE = {
    "HF_DATASETS_OFFLINE": "1", "HF_HUB_OFFLINE": "1", "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1", "NO_COLOR": "1",
}  # fmt: skip


@dataclass(frozen=True)
class Peer:
    """Another program: its command in a folder with the cases, and how it is installed."""

    name: str
    program: str
    install: str
    prepare: Callable[[Path, str], tuple[list[str], Mapping[str, str]]]
    """From the folder and the base URL: its arguments and its variables."""


def _inspect(folder: Path, base_url: str) -> tuple[list[str], Mapping[str, str]]:
    (folder / "suite.py").write_text(_INSPECT, encoding="utf-8")
    at_once = str(CONNECTIONS)
    return [
        "eval", "suite.py", "--model", "openai-api/mock/mock", "--max-connections", at_once,
        "--max-samples", at_once, "--display", "none", "--log-dir", "logs",
    ], {"MOCK_BASE_URL": base_url, "MOCK_API_KEY": "none"}  # fmt: skip


def _promptfoo(folder: Path, base_url: str) -> tuple[list[str], Mapping[str, str]]:
    config = {"apiBaseUrl": base_url, "apiKey": "none"}
    document = {
        "prompts": ["{{text}}"],
        "providers": [{"id": "openai:chat:mock", "config": config}],
        "tests": [
            {
                "vars": {"text": case["input"]},
                "assert": [{"type": "contains", "value": case["target"]}],
            }
            for case in _cases(folder)
        ],
    }
    (folder / "promptfoo.json").write_text(json.dumps(document), encoding="utf-8")
    return [
        "eval", "-c", "promptfoo.json", "-j", str(CONNECTIONS), "--no-cache", "--no-table",
        "--no-progress-bar",
    ], {"PROMPTFOO_CONFIG_DIR": str(folder / "promptfoo")}  # fmt: skip


def _lm_eval(folder: Path, base_url: str) -> tuple[list[str], Mapping[str, str]]:
    (folder / "suite.yaml").write_text(_LM_EVAL, encoding="utf-8")
    model = (
        f"model=mock,base_url={base_url}/chat/completions,num_concurrent={CONNECTIONS},"
        "tokenized_requests=False"
    )
    return [
        "--model", "local-chat-completions", "--model_args", model, "--tasks", "suite",
        "--include_path", ".", "--apply_chat_template", "--use_cache", str(folder / "cache"),
        "--output_path", "lm_eval", "--log_samples",
    ], {"OPENAI_API_KEY": "none", "HF_HOME": str(folder / "hf")}  # fmt: skip


PEERS = (
    Peer("inspect_ai", "inspect", "pip install inspect_ai openai", _inspect),
    Peer("promptfoo", "promptfoo", "npm install promptfoo", _promptfoo),
    Peer("lm-eval", "lm_eval", "pip install 'lm-eval[api]'", _lm_eval),
)
_HOW = (
    "The whole command, from shell to shell, of the same cases of 600 bytes over 100 connections "
    "to a server that answers at once."
)
ROWS = (
    Row("peer-ours", "failproof-es, beside its peers", "s", _HOW),
    Row("peer-bare", "the bare loop, the same cases, with its start", "s", _HOW),
    *(Row(f"peer-{each.name}", f"{each.name}, the same cases", "s", _HOW) for each in PEERS),
)


def _cases(folder: Path) -> list[dict[str, str]]:
    lines = (folder / "inspect.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _write_cases(folder: Path, cases: int) -> None:
    with (folder / "inspect.jsonl").open("w", encoding="utf-8") as lines:
        for n in range(cases):
            case = {"input": PROMPT.replace("{n}", f"number {n}"), "target": f"number {n}"}
            lines.write(json.dumps(case) + "\n")


def found(program: str) -> str | None:
    """Where a peer's program is."""
    places = os.environ.get("PEERS", "") + os.pathsep + os.environ["PATH"]
    return shutil.which(program, path=places)


@contextlib.contextmanager
def begin(python: str, sizes: Sizes) -> Iterator[Measure]:
    """See `Benchmark`."""
    yield lambda: _measure(python, sizes.peer_cases)


def _measure(python: str, cases: int) -> Iterator[Measurement]:
    with server() as base_url:
        yield _ours(python, base_url, cases)
        yield _bare(base_url, cases)
        for peer in PEERS:
            yield _peer(peer, base_url, cases)


def _ours(python: str, base_url: str, cases: int) -> Measurement:
    with working_folder() as folder, installation(python) as one:
        write_run(folder, base_url, cases)
        count_anew(base_url)
        command = one.command("start", "run.yaml", "--quiet")
        ran = run_watched(command, one.environment, folder, one.server_pid)
    return _taken("ours", ran, base_url, cases)


def _bare(base_url: str, cases: int) -> Measurement:
    count_anew(base_url)
    command = [sys.executable, "-m", "tests.benchmarks.reach.bare", base_url]
    with working_folder() as folder:
        variables = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
        ran = run_watched([*command, "--cases", str(cases)], variables, folder)
    return _taken("bare", ran, base_url, cases)


def _peer(peer: Peer, base_url: str, cases: int) -> Measurement:
    program = found(peer.program)
    if program is None:
        why = f"not installed: {peer.name}, install with `{peer.install}`"
        return Measurement(f"peer-{peer.name}", None, note=why)
    with working_folder() as folder:
        _write_cases(folder, cases)
        arguments, variables = peer.prepare(folder, base_url)
        count_anew(base_url)
        everything = {
            "PATH": os.environ["PATH"], "HOME": str(folder), **_OFFLINE, **variables,
        }  # fmt: skip
        ran = run_watched([program, *arguments], everything, folder)
    return _taken(peer.name, ran, base_url, cases)


def _taken(name: str, ran: Ran, base_url: str, cases: int) -> Measurement:
    """The command's time; none where it did not ask every case."""
    asked = counted(base_url)["requests"]
    if ran.code != 0 or asked < cases:
        last = " ".join(ran.output.split())[-200:]
        note = f"failed: {name} exited {ran.code} after {asked:,} of {cases:,} requests: {last}"
        return Measurement(f"peer-{name}", None, ran.wall_s, ran.cpu_s, note)
    cpu = ran.cpu_s + ran.server_s
    return Measurement(f"peer-{name}", ran.wall_s, ran.wall_s, cpu, f"{cases:,} cases")


BENCHMARKS = (Benchmark("peers", ROWS, begin),)


def main() -> None:
    """Print the table of the peers alone."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=2_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    rows = {row.name: Measured(row, "peers") for row in ROWS}
    sizes = dataclasses.replace(Sizes(), peer_cases=options.cases)
    with begin(THIS, sizes) as measure:
        for _ in range(options.rounds):
            for taken in measure():
                rows[taken.row].add("now", taken)
    print("\n".join(table([row.document() for row in rows.values()], ["now"])))


if __name__ == "__main__":
    main()

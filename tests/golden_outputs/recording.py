"""Records the log of the golden outputs: six runs, once, with real commands and a real server.

`python -m tests.golden_outputs.recording` writes `log.json.gz`: the rows of every table of the log.
What reads it then says the same of it for ever, byte for byte. Record it anew when the form of an
event changes, and look at what changes in the outputs.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import shutil
from pathlib import Path
from typing import Any

import psycopg

from tests.acceptance.recomputation.truth_server import judged_case, plain_case, serving
from tests.own_server import own_server
from tests.released.record import command, nobody_in, rows

FOLDER = Path("/tmp/golden")
"""Where it is recorded: the path stands in events."""
LOG = Path(__file__).parent / "log.json.gz"
PLAIN, BRANCH, JUDGED, IMPORTED, ARCHIVED, PAUSED = range(1, 7)
"""The numbers of the runs."""
CASES = 8
PRICES = {
    "version": "2026-11-21",
    "models": [
        {"model": model, "input_usd_per_million": 1.5, "output_usd_per_million": 6}
        for model in ("alpha", "gamma", "judge-a", "judge-b")
    ],
}


def write_files(folder: Path, url: str) -> None:
    """Two suites, and a configuration for each run that asks a model."""
    for name, case in (("plain", plain_case), ("judged", judged_case)):
        lines = [json.dumps(case(number)) for number in range(1, CASES + 1)]
        (folder / f"{name}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    gates = {"min_accuracy": 0.4, "max_unscored_rate": 0.4, "max_cost_usd": 1.0}
    for run, models, judges, suite, more in (
        (PLAIN, ("alpha",), (), "plain", {"gates": gates}),
        (JUDGED, ("gamma", "delta"), ("judge-a", "judge-b", "judge-c"), "judged", {}),
        (ARCHIVED, ("alpha",), (), "plain", {}),
        (PAUSED, ("alpha",), (), "plain", {"execution": {"max_spend_usd": 0.00198}}),
    ):
        configuration: dict[str, Any] = {
            "test_run": {"name": f"golden-{run}"},
            "models": [
                {"provider": "openai", "base_url": url, "model": each, "max_tokens": 20}
                for each in models
            ],
            "prompts": {
                "path": f"{suite}.jsonl",
                "dialect": "failproof" if suite == "plain" else "redteam",
            },
            "prices": PRICES,
            **more,
        }
        execution = {"parallel_workers": 1, "retry_attempts": 1, "retry_delay_ms": 1}
        configuration["execution"] = {**execution, **more.get("execution", {})}
        if run == PLAIN:
            configuration["execution"]["repetitions"] = 2
        if judges:
            configuration["judges"] = [
                {"provider": "openai", "base_url": url, "model": each} for each in judges
            ]
        (folder / f"{run}.yaml").write_text(json.dumps(configuration), "utf-8")


def filled_in(sheet: str, verdict: str) -> str:
    """The sheet with one verdict on every second evaluation."""
    read = list(csv.DictReader(io.StringIO(sheet.removeprefix("\ufeff"))))
    chosen = set(list(dict.fromkeys(row["evaluation_id"] for row in read))[::2])
    for row in read:
        if row["evaluation_id"] in chosen and row["item"] == "overall":
            row["verdict"], row["notes"] = verdict, "as it should be"
    written = io.StringIO(newline="")
    writer = csv.DictWriter(written, read[0])
    writer.writeheader()
    writer.writerows(read)
    return written.getvalue()


def record() -> dict[str, Any]:
    """The rows of the six runs, by table."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    nobody_in(FOLDER)
    with own_server() as server, serving() as (_, url):

        def run(*arguments: str) -> str:
            return command(server.url, FOLDER, *arguments, codes=(0, 1, 3))

        write_files(FOLDER, url)
        run("db", "init")
        run("start", f"{PLAIN}.yaml", "--quiet")
        run("resume", str(PLAIN), "--again", "failed", "--quiet")
        run("start", f"{JUDGED}.yaml", "--quiet")
        for reviewer, verdict in (("ann", "pass"), ("bob", "fail")):
            sheet = FOLDER / f"{reviewer}.csv"
            run("review", "export", str(JUDGED), str(sheet), "--reviewer", reviewer)
            sheet.write_text(filled_in(sheet.read_text("utf-8"), verdict), "utf-8")
            run("review", "import", str(JUDGED), str(sheet), "--reviewer", reviewer)
        run("export", str(PLAIN), "--shape", "every-eval-ever", "-o", "exported")
        [exported] = (FOLDER / "exported").rglob("*.json")
        run("import", "every-eval-ever", str(exported))
        run("start", f"{ARCHIVED}.yaml", "--quiet")
        run("archive", str(ARCHIVED), "--to", "archives")
        run("start", f"{PAUSED}.yaml", "--quiet")
        with psycopg.connect(server.url, autocommit=True) as connection:
            return rows(connection)


if __name__ == "__main__":
    LOG.write_bytes(gzip.compress(json.dumps(record()).encode(), mtime=0))

"""From the command to its first request, on a warm embedded server, against `--version`.

`python -m tests.benchmarks.startup`
"""

from __future__ import annotations

import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from failproof_es.store.store import Store
from tests.acceptance.commands import (
    PROGRAM,
    environment,
    mock_server,
    write_configuration,
    write_suite,
)
from tests.benchmarks.servers import benchmark_store

ROUNDS = 5


def main() -> None:
    folder = Path(tempfile.mkdtemp())
    write_suite(folder, 20)
    firsts, bare = [], []
    with mock_server(0) as base_url, benchmark_store() as url:
        write_configuration(folder, base_url)
        for _ in range(ROUNDS):
            began = time.perf_counter()
            subprocess.run(
                [*PROGRAM, "--version"], env=environment(url), check=True, capture_output=True
            )
            bare.append(time.perf_counter() - began)
            began_at = time.time()
            subprocess.run(
                [*PROGRAM, "start", "run.yaml", "--quiet"],
                env=environment(url), cwd=folder, check=True, capture_output=True,
            )  # fmt: skip
            with Store(url).connect() as connection:
                row = connection.execute(
                    "SELECT extract(epoch FROM min(recorded_at)) FROM failproof.stored_events "
                    "WHERE topic = 'RequestSent' AND recorded_at > to_timestamp(%s)",
                    (began_at,),
                ).fetchone()
            assert row is not None
            firsts.append(float(row[0]) - began_at)
    first, version = statistics.median(firsts), statistics.median(bare)
    print(
        f"start to first request of 20 cases: {first:.2f} s, --version {version:.2f} s, "
        f"ratio {first / version:.1f} (wanted < 1.5 s)"
    )


if __name__ == "__main__":
    main()

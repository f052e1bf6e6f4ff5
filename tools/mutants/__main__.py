"""`python -m tools.mutants`: draw mutants, run the tests that reach them, print the survivors."""

from __future__ import annotations

import argparse
import hashlib
import json
import shlex
import sys
import tempfile
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from queue import SimpleQueue

from tools.mutants.copies import RECORDING, Copy
from tools.mutants.drawing import PACKAGES, Mutant, draw, read_sources
from tools.mutants.operators import Source
from tools.mutants.reach import Probes, Record
from tools.mutants.results import KILLED, Results, comparison, read_results, summary
from tools.mutants.running import NO_TESTS, run_mutant, seconds_without_probes

SEED = 30
ALL_TESTS = "--ignore=tests/benchmarks"
"""Pytest's arguments for what `make test-all` runs."""
say = partial(print, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0, whatever survives."""
    options = _parser().parse_args(arguments)
    if options.report:
        before, after = ({each.id: each for each in read_results(file)} for file in options.report)
        for line in comparison(before, after):
            say(line)
        return 0
    tree = options.tree.resolve()
    sources = read_sources(tree, options.packages)
    mutants = draw(sources, options.mutants, options.seed)
    if options.list:
        for mutant in mutants:
            say(f"{mutant.id} {mutant.path}:{mutant.line} [{mutant.mutation.operator}]")
            say(mutant.diff)
        return 0
    work = _Work(tree, sources, mutants, options)
    if options.probe or not (options.recorded or work.is_recorded):
        work.run_with_probes()
    if not options.probe:
        work.run_mutants()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.mutants", description=__doc__)
    add = parser.add_argument
    add("--mutants", type=int, default=150, help="how many are drawn (150)")
    add("--seed", type=int, default=SEED, help=f"of the drawing ({SEED})")
    add("--seconds", type=float, default=90.0, help="of test files for one mutant (90)")
    add("--jobs", type=int, default=1, help="mutants at once (1)")
    add("--processes", default="4", help="pytest's `-n` in the run with probes (4)")
    add("--tree", type=Path, default=Path(), help="the tree, with a .venv (this folder)")
    add("--work", type=Path, default=Path("build/mutants"), help="results and logs (build/mutants)")
    add("--copies", type=Path, help="where the copies are made (the folder for temporary files)")
    add("--packages", nargs="+", default=PACKAGES, help="that are mutated")
    add("--tests", default=ALL_TESTS, help="pytest's arguments in that run")
    add("--list", action="store_true", help="print the mutants that are drawn, and run nothing")
    add("--probe", action="store_true", help="run the tests with probes alone")
    add(
        "--recorded", action="store_true", help="use the record as it is, without running the tests"
    )
    add("--report", nargs=2, type=Path, metavar=("A", "B"), help="compare two files of results")
    return parser


class _Work:
    def __init__(
        self,
        tree: Path,
        sources: dict[str, Source],
        mutants: Sequence[Mutant],
        options: argparse.Namespace,
    ) -> None:
        self._tree, self._mutants, self._options = tree, mutants, options
        self._packages = tuple(options.packages)
        self._probes = Probes(sources, mutants, self._packages[0])
        self._sources = sources
        self._drawn = hashlib.sha256("".join(each.id for each in mutants).encode()).hexdigest()[:8]
        copies: Path = options.copies or _folder_for_copies(tree, self._drawn)
        work: Path = options.work
        self._copies, self._work = copies.resolve(), work.resolve()
        (self._work / "logs").mkdir(parents=True, exist_ok=True)
        self._recorded = self._work / f"recorded-{self._drawn}"
        self._baseline = self._work / "unmutated.json"

    @property
    def is_recorded(self) -> bool:
        """Whether all tests ran with probes of these mutants."""
        return self._recorded.exists() and self._record_place.exists()

    @property
    def _record_place(self) -> Path:
        return self._work / f"record-{self._drawn}"

    def _copy(self, name: str) -> Copy:
        return Copy(self._tree, self._copies / name, self._packages)

    def run_with_probes(self) -> None:
        """Run the test files without a record, on a copy with the probes of all mutants.

        Raises `RuntimeError` where pytest was interrupted: the next run goes on.
        """
        copy = self._copy("p")
        edits = self._probes.edits()
        record = copy.install_probes(
            {path: self._sources[path].edited(edits[path]) for path in edits}
        )
        self._record_place.unlink(missing_ok=True)  # it may lead to a copy that is gone
        self._record_place.symlink_to(record)
        recorded = [f"--ignore={path}" for path in Record(record).files]
        log = self._work / "logs" / "with-probes.log"
        say(f"running the tests with the probes of {len(self._mutants)} mutants: {log}")
        code = copy.pytest(
            "-q", "-n", self._options.processes, "--dist", "loadfile", "--no-loadscope-reorder",
            "-p", RECORDING, *shlex.split(self._options.tests), *recorded, log=log, timeout_s=None,
        )  # fmt: skip
        say(log.read_text(errors="replace").splitlines()[-1])
        if code not in (0, 1, NO_TESTS):  # all passed, some failed, all are recorded
            raise RuntimeError(f"pytest ended with exit code {code}: {log}")
        if self._options.tests == ALL_TESTS:
            self._recorded.touch()

    def run_mutants(self) -> None:
        """Each that is not yet killed, with the test files that reach it."""
        options, logs = self._options, self._work / "logs"
        record = Record(self._record_place)
        seconds = {path: file.seconds for path, file in record.files.items()}
        results = Results(self._work / "results.jsonl")
        files = {
            mutant.id: record.reaching(
                number, mutant, self._probes.names.get(number, set()), self._tree
            )
            for number, mutant in enumerate(self._mutants)
        }
        waiting = [
            mutant
            for mutant in self._mutants
            if mutant.id not in results.by_id or results.by_id[mutant.id].outcome != KILLED
        ]
        copies = SimpleQueue[Copy]()
        for number in range(options.jobs):
            copies.put(self._copy(str(number)))
        broken = self._broken(record, [files[mutant.id] for mutant in waiting], seconds, copies)

        def run(mutant: Mutant) -> None:
            copy = copies.get()
            try:
                reaching = [path for path in files[mutant.id] if path not in broken]
                result = run_mutant(
                    copy, mutant, reaching, seconds, cap_s=options.seconds,
                    earlier=results.by_id.get(mutant.id), logs=logs,
                )  # fmt: skip
            finally:
                copies.put(copy)
            results.add(result)
            say(f"{result.outcome}: {result.path}:{result.line} {result.by} ({result.seconds} s)")

        with ThreadPoolExecutor(options.jobs) as pool:
            for future in [pool.submit(run, mutant) for mutant in waiting]:
                future.result()
        drawn = {mutant.id for mutant in self._mutants}
        final = [result for result in results.by_id.values() if result.id in drawn]
        for path in sorted(broken):
            say(f"left out, it fails without a mutant: {path}")
        for line in summary(final, len(drawn), options.seconds):
            say(line)

    def _broken(
        self,
        record: Record,
        plans: Iterable[Sequence[str]],
        seconds: dict[str, float],
        copies: SimpleQueue[Copy],
    ) -> set[str]:
        """Test files that failed with the probes, and do without; of the others new seconds."""
        needed = {path for plan in plans for path in plan}
        failed = sorted(path for path in needed if record.files[path].failed)
        known: dict[str, float | None] = {}
        if self._baseline.exists():
            known = json.loads(self._baseline.read_text())
        copy = copies.get()
        seconds_without_probes(copy, failed, known, self._work / "logs")
        copies.put(copy)
        self._baseline.write_text(json.dumps(known, indent=1))
        seconds |= {path: taken for path in failed if (taken := known[path]) is not None}
        return {path for path in failed if known[path] is None}


def _folder_for_copies(tree: Path, drawn: str) -> Path:
    digest = hashlib.sha256(f"{tree} {drawn}".encode()).hexdigest()
    return Path(tempfile.gettempdir()) / f"mutants-{digest[:8]}"


if __name__ == "__main__":
    sys.exit(main())

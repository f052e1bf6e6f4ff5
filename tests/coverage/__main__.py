"""`python -m tests.coverage [--draws N] [--seed N] [--page FILE]`: the coverage of every interval.

Writes the table between the marks of the page, and prints every setting whose interval covers less
than 93 % or more than 97.5 %.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from multiprocessing import Pool
from pathlib import Path

from tests.coverage.setting import Setting
from tests.coverage.settings import grid
from tests.coverage.table import BEGIN, END, HIGHEST, LOWEST, Covered, merged, table_of

PAGE = Path("docs/reference/coverage.md")


def main(arguments: list[str]) -> int:
    """Simulate the grid, print what lies outside, and write the page."""
    parser = argparse.ArgumentParser(prog="python -m tests.coverage", description=__doc__)
    parser.add_argument("--draws", type=int, default=2_000, help="samples of each setting")
    parser.add_argument("--seed", type=int, default=1, help="of the random samples")
    parser.add_argument("--processes", type=int, default=2, help="processes that draw")
    parser.add_argument("--only", default="", help="numbers whose name holds this; other rows stay")
    parser.add_argument("--page", type=Path, default=PAGE, help="the page that holds the table")
    asked = parser.parse_args(arguments)
    places = [at for at, each in enumerate(grid()) if asked.only in each.what]
    with Pool(asked.processes) as pool:
        wanted = [(at, asked.draws, asked.seed) for at in places]
        covered = pool.starmap(_covered, wanted, chunksize=4)
    for each in covered:
        if each.printed and not LOWEST <= each.share <= HIGHEST:
            print(each.line())
    table = table_of(covered, asked.draws)
    print(table)
    before, _, rest = asked.page.read_text().partition(BEGIN)
    old, _, after = rest.partition(END)
    asked.page.write_text(f"{before}{BEGIN}\n\n{merged(old, table)}\n{END}{after}")
    return 0


_GRID: dict[int, Setting] = defaultdict()


def _covered(at: int, draws: int, seed: int) -> Covered:
    if not _GRID:
        _GRID.update(enumerate(grid()))
    setting = _GRID[at]
    share, printed = setting.coverage(draws, seed)
    return Covered(setting.what, setting.clusters, setting.size, setting.of, share, printed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

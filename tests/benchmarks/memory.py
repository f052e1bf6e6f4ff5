"""Peak memory of a run at 10,000 and at 100,000 cases: it should stay flat.

`python -m tests.benchmarks.memory`
"""

from __future__ import annotations

from tests.acceptance.commands import mock_server
from tests.benchmarks.evaluations import measure
from tests.benchmarks.servers import benchmark_store


def main() -> None:
    peaks = []
    for cases in (10_000, 100_000):
        with mock_server(0) as base_url, benchmark_store() as url:
            rate, whole, peak = measure(url, base_url, cases, follow=False)
        peaks.append(peak)
        print(f"  {cases:,} cases: peak {peak:.0f} MB, {rate:,.0f} evaluations/s, {whole:.0f} s")
    print(f"memory: ratio {peaks[1] / peaks[0]:.2f} (wanted <= 1.2, and under 200 MB)")


if __name__ == "__main__":
    main()

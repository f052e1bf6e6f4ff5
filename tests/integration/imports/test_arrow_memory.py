"""A file of a kilobyte that unpacks to gigabytes takes no more memory than it may."""

from __future__ import annotations

import resource
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from failproof_es.importers import arrow_rows
from failproof_es.importers.data_sets import READERS
from failproof_es.importers.source import Source
from failproof_es.problems import InvalidInput

MEMORY = 512 * 2**20
"""A tenth of what the files below unpack to, and enough for the library itself."""


@pytest.fixture(autouse=True)
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrow_rows, "MEMORY", MEMORY)


def repeated_values(path: Path) -> Path:
    """200 rows of one value of 20 MiB: a batch of 64 takes more than a gigabyte."""
    value = pa.array(["x" * (20 * 2**20)])
    column = pa.DictionaryArray.from_arrays(pa.array([0] * 200, pa.int32()), value)
    file = path / "t.parquet"
    parquet.write_table(pa.table({"prompt": column}), file, compression="zstd")
    return file


def compressed_zeros(path: Path) -> Path:
    """300 MB of zeros, which reading makes twice of."""
    column = pa.array([bytes(300 * 2**20)], pa.large_binary())
    file = path / "t.arrow"
    how = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.OSFile(str(file), "wb") as sink:
        schema = pa.schema([("prompt", pa.large_binary())])
        with pa.ipc.new_stream(sink, schema, options=how) as writer:
            writer.write_batch(pa.record_batch([column], names=["prompt"]))
    return file


@pytest.mark.slow
@pytest.mark.parametrize("make", [repeated_values, compressed_zeros])
def test_what_unpacks_to_more_than_the_memory_is_bad_input(
    tmp_path: Path, make: Callable[[Path], Path]
) -> None:
    file = make(tmp_path)
    assert file.stat().st_size < 16_384
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    rows = READERS[file.suffix](Source(file), file)
    assert list(rows.names) == ["prompt"]
    with pytest.raises(InvalidInput, match=r"memory.*\[limit-exceeded\]"):
        list(rows.read(["prompt"]))
    grown_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown_kib < 64 * 1024, "it was unpacked in this process"


def test_a_harmless_file_is_read_within_that_memory(tmp_path: Path) -> None:
    file = tmp_path / "t.parquet"
    parquet.write_table(pa.table({"prompt": ["a", "b"], "n": [1, 2]}), file)
    rows = READERS[".parquet"](Source(file), file)
    records = [(row.place.line, row.record) for row in rows.read(["prompt", "n"])]
    assert records == [(1, {"prompt": "a", "n": 1}), (2, {"prompt": "b", "n": 2})]

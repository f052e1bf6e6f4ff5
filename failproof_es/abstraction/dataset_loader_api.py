"""`DataSetLoaderApi` (specification 003 § 4.3): tasks from files."""

from typing import Protocol

from failproof_es.abstraction.types import BenchmarkTask


class DataSetLoaderApi(Protocol):
    """Reads benchmark tasks."""

    def load_tasks(self, folder_path: str) -> list[BenchmarkTask]:
        """Every task in the files of a folder."""
        ...

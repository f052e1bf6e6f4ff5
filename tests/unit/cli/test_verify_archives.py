"""`verify` names archive files that are not on this host."""

from __future__ import annotations

from pathlib import Path

import pytest

from failproof_es.cli.commands.prove.verify import is_missing_here


def test_only_a_file_that_is_known_to_be_missing_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    assert is_missing_here(tmp_path / "other") and is_missing_here(tmp_path / "file" / "below")
    for file in (tmp_path / "file", Path("relative"), Path("/" + "x" * 300), Path("/\0")):
        assert not is_missing_here(file)

    def refuse(_: Path) -> None:
        raise PermissionError

    monkeypatch.setattr(Path, "stat", refuse)
    assert not is_missing_here(tmp_path / "other")

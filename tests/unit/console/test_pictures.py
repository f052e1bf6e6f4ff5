"""Each page of the console has a picture, light and dark, and the page of pictures shows it."""

from __future__ import annotations

from pathlib import Path

import pytest

from failproof_es.console.pages import all_pages
from tests.pictures import FOLDER, PICTURED, WIDTH

NAMES = sorted(page.name for page in all_pages())
MOST_BYTES = 4_000_000
SHOWN = (FOLDER.parent / "console.md").read_text("utf-8")


def width_of(picture: Path) -> int:
    """Of a WebP as the browser writes it, in pixels."""
    head = picture.read_bytes()[:30]
    assert (head[:4], head[8:16]) == (b"RIFF", b"WEBPVP8X")
    return 1 + int.from_bytes(head[24:27], "little")


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_pictured_and_shown(name: str) -> None:
    for scheme in ("light", "dark"):
        picture = FOLDER / f"{name}.{scheme}.webp"
        assert width_of(picture) == WIDTH
        assert f"](console/{picture.name})" in SHOWN


def test_there_are_no_other_pictures_and_they_are_small() -> None:
    assert sorted(PICTURED) == NAMES
    pictures = sorted(FOLDER.iterdir())
    assert len(pictures) == 2 * len(NAMES)
    assert sum(each.stat().st_size for each in pictures) < MOST_BYTES

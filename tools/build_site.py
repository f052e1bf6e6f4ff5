"""Builds the documentation site: `make docs`, or `python -m tools.build_site FOLDER`.

The pages are copied first. A link that leads out of `docs/`, to a configuration or a module, works
where people read the repository; on the site it leads to a copy of that file. Zensical makes the
pages (`zensical.toml`) and refuses what it warns of. Then every link and anchor of the site that
came out is followed, without the network.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).parents[1]
_LINK = re.compile(r"(?<=\]\()([^)\s#]+)")
_FILES = "files"
"""Where on the site the copies of files from outside `docs/` are."""
_CRASH = "Watcher disconnected"
"""Zensical 0.0.73 sometimes crashes with it, whatever the pages say."""
_TRIES = 3


class BrokenSite(Exception):
    """The site was not built, or holds a link that leads nowhere."""


def build(folder: Path) -> Path:
    """Build the site in `folder`, which is emptied, and return the folder of its pages.

    Raises `BrokenSite` where Zensical warns of something, or a link leads nowhere.
    """
    shutil.rmtree(folder, ignore_errors=True)
    docs = folder / "docs"
    shutil.copytree(ROOT / "docs", docs, ignore=shutil.ignore_patterns("__pycache__"))
    for page in sorted((ROOT / "docs").rglob("*.md")):
        _stage(page, docs)
    shutil.copy(ROOT / "zensical.toml", folder)
    returncode, said = _zensical(folder)
    if returncode != 0 or "Warning" in said:
        raise BrokenSite(said)
    site = folder / "site"
    if broken := list(broken_links(site)):
        raise BrokenSite("\n".join(broken))
    return site


def _zensical(folder: Path) -> tuple[int, str]:
    """Make the pages; return the exit code and what was printed."""
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean"]
    for left in reversed(range(_TRIES)):
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=False, timeout=300
        )
        said = done.stdout + done.stderr
        if _CRASH not in said or not left:
            break
        print(f"zensical crashed ({_CRASH}): building again", file=sys.stderr)
    return done.returncode, said


def _stage(page: Path, docs: Path) -> None:
    """Let the links of a copied page that lead out of `docs/` lead to copies."""
    copied = docs / page.relative_to(ROOT / "docs")

    def led(match: re.Match[str]) -> str:
        target = Path(os.path.normpath(page.parent / match[0]))
        if urlsplit(match[0]).scheme or not target.is_relative_to(ROOT):
            return match[0]
        if target.is_relative_to(ROOT / "docs") and not target.is_dir():
            return match[0]
        return os.path.relpath(_copy(target, docs), copied.parent)

    text = copied.read_text("utf-8")
    if (changed := _LINK.sub(led, text)) != text:
        copied.write_text(changed, "utf-8")


def _copy(target: Path, docs: Path) -> Path:
    """The copy of a file; of a folder, a page that lists its files."""
    place = docs / _FILES / target.relative_to(ROOT)
    if target.is_file():
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(target, place)
        return place
    files = [each for each in sorted(target.iterdir()) if each.is_file()]
    for each in files:
        _copy(each, docs)
    listed = "\n".join(f"- [{each.name}]({each.name})" for each in files)
    page = place / "index.md"
    page.write_text(f"# {target.relative_to(ROOT)}\n\n{listed}\n", "utf-8")
    return page


class _Page(HTMLParser):
    """The links of a page, and what can be linked to in it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.anchors = {"", "__top"}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if value is None:
                continue
            if name in ("href", "src"):
                self.links.append(value)
            elif name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)


_read_page = cache(_Page)


def broken_links(site: Path) -> Iterator[str]:
    """Each link of the site's pages that leads to no file or anchor of it, and the page.

    What leads to another server is not followed.
    """
    pages = {file: _read_page(file.read_text("utf-8")) for file in sorted(site.rglob("*.html"))}
    for file, page in pages.items():
        if file.name == "404.html":  # served for any address: its links are from the root
            continue
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            path = unquote(parts.path)
            target = Path(os.path.normpath(file.parent / path)) if path else file
            if target.is_dir():
                target /= "index.html"
            anchor = unquote(parts.fragment)
            if not target.is_file() or (target in pages and anchor not in pages[target].anchors):
                yield f"{file.relative_to(site)}: {link} leads nowhere"


if __name__ == "__main__":
    try:
        print(f"the site is in {build(Path(sys.argv[1]))}")
    except BrokenSite as error:
        sys.exit(f"the site is not built:\n{error}")

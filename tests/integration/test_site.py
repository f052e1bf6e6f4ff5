"""The documentation site builds without a warning, leads nowhere wrong, and can be searched."""

from __future__ import annotations

import shutil
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from tools import build_site
from tools.build_site import ROOT, BrokenSite, broken_links, build


def listed(nav: list[dict[str, Any]]) -> Iterator[str]:
    for entry in nav:
        for target in entry.values():
            if isinstance(target, str):
                yield target
            else:
                yield from listed(target)


def test_every_page_is_in_the_navigation_once() -> None:
    nav = tomllib.loads((ROOT / "zensical.toml").read_text("utf-8"))["project"]["nav"]
    docs = ROOT / "docs"
    pages = {page.relative_to(docs).as_posix() for page in docs.rglob("*.md")}
    elsewhere = {page for page in pages if page.startswith(("decisions/2", "examples/"))}
    assert sorted(listed(nav)) == sorted(pages - elsewhere)


@pytest.mark.slow
def test_the_site_builds_and_every_page_can_be_found(tmp_path: Path) -> None:
    site = build(tmp_path / "built")
    pages = {path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")}
    made = {path.relative_to(site).with_suffix("") for path in site.rglob("*.html")}
    assert {page.with_suffix("") for page in pages} - made <= {Path("examples/plugin/README")}
    index = orjson.loads((site / "search.json").read_bytes())
    found = {item["location"].partition("#")[0] for item in index["items"]}
    assert "how-to/gates.html" in found and "reference/events.html" in found
    assert len(found) >= len(pages)

    page = site / "how-to" / "gates.html"
    text = page.read_text("utf-8")
    page.write_text(
        text.replace("</article>", '<a href="no.html">x</a><a href="#no">y</a></article>')
    )
    seen = list(broken_links(site))
    assert seen == [f"how-to/gates.html: {link} leads nowhere" for link in ("no.html", "#no")]


@pytest.mark.slow
@pytest.mark.parametrize("link", ["nothing.md", "index.md#nothing", "../../elsewhere.md"])
def test_a_link_that_leads_nowhere_stops_the_build(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, link: str
) -> None:
    root = tmp_path / "root"
    (root / "docs").mkdir(parents=True)
    (root / "docs" / "index.md").write_text(f"# A page\n\n[there]({link})\n")
    shutil.copy(ROOT / "zensical.toml", root)
    text = (root / "zensical.toml").read_text("utf-8")
    before, _, rest = text.partition("nav = [")
    (root / "zensical.toml").write_text(before + rest.partition("\n]\n")[2])
    monkeypatch.setattr(build_site, "ROOT", root)
    with pytest.raises(BrokenSite, match=r"nothing|nowhere|not exist"):
        build(tmp_path / "built")


def test_a_crash_of_the_generator_is_told_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Zensical's own crash cannot be provoked here: a program that ends like it stands for it."""
    (tmp_path / "zensical.py").write_text(
        "import pathlib, sys\n"
        "tries = pathlib.Path('tries')\n"
        "tries.write_text(tries.read_text() + '.' if tries.exists() else '.')\n"
        "if len(tries.read_text()) < int(pathlib.Path('works').read_text()):\n"
        "    sys.exit('RuntimeError: Watcher disconnected')\n"
    )
    (tmp_path / "works").write_text("3")
    assert build_site._zensical(tmp_path) == (0, "")
    assert (tmp_path / "tries").read_text() == "..."
    assert capsys.readouterr().err.count("building again") == 2

    (tmp_path / "works").write_text("9")
    assert build_site._zensical(tmp_path) == (1, "RuntimeError: Watcher disconnected\n")

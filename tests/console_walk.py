"""What a browser asks of a page of the console: it is loaded once, and looked at from all sides."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache

from playwright.sync_api import Browser, Page, TimeoutError

NARROW = 320
PAPER = 700
"""CSS pixels between the margins of A4."""
_TABS = 9
_PATIENCE_MS = 5000

_FOCUSED = """() => {
  const at = document.activeElement, style = getComputedStyle(at);
  const box = at.getBoundingClientRect();
  const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  return [at.outerHTML.slice(0, 120), outlined,
          box.width > 0 && box.height > 0 && box.bottom > 0 && box.right > 0];
}"""
_IN_ORDER = """() => [...document.querySelectorAll(
    "a[href], button, input, select, summary, [tabindex]")]
  .filter((each) => each.tabIndex >= 0 && each.type !== "hidden" && each.checkVisibility())
  .map((each) => each.outerHTML.slice(0, 120))"""
_TOO_WIDE = """(width) => {
  const page = document.documentElement.scrollWidth;
  if (page <= width) return null;
  const wide = [...document.querySelectorAll("main *")]
    .filter((each) => each.getBoundingClientRect().right > width + 1)
    .map((each) => each.outerHTML.slice(0, 90));
  return `${page} px: ${wide.slice(0, 2).join(" ")}`;
}"""
_CUT = """(of) => [...document.querySelectorAll(of)]
  .filter((each) => each.scrollWidth > each.clientWidth + 1)
  .map((each) => each.innerText.slice(0, 60).replaceAll("\\n", " "))"""
_FIGURES = ".figures > div, .figures dt, .figures dd"
_TABLES = ".scroll, .chart"
_LAID_OUT = "() => new Promise((laid_out) => requestAnimationFrame(() => laid_out()))"
"""Scripts arrange the page for a new width of the window before its next frame."""
_FINGER = 40
_SMALL = """(of) => [...document.querySelectorAll(
    "button, select, input:not([type=hidden], [type=checkbox]), .pick label, summary, " +
    "nav a, tbody a, dd > a")]
  .filter((each) => each.checkVisibility() && each.getBoundingClientRect().height < of - 0.5)
  .map((each) => each.outerHTML.slice(0, 90))"""
_AT_ROW = """() => [...document.querySelectorAll("a.row-link")].indexOf(document.activeElement)"""


class Walker:
    """One window with scripts, and one without, for all pages."""

    def __init__(self, browser: Browser, served: str) -> None:
        # axe is put into the page by the test, which the page's own policy would forbid
        self._context = browser.new_context(bypass_csp=True)
        self._plain = browser.new_context(
            java_script_enabled=False, viewport={"width": NARROW, "height": 640}
        )
        self._served = served
        self._said: list[str] = []
        self.page = self._context.new_page()
        self.without_script = self._plain.new_page()
        self.page.on("console", lambda message: self._said.append(f"said {message.text}"))
        self.page.on("pageerror", lambda error: self._said.append(f"threw {error}"))
        self.page.on("request", lambda request: self._asked(request.url))

    def close(self) -> None:
        self._context.close()
        self._plain.close()

    def objections(self, path: str) -> list[str]:
        """What is wrong with the page at this path; nothing, if it is as every page has to be."""
        page = self.page
        self._said.clear()
        page.set_viewport_size({"width": 1280, "height": 900})
        page.emulate_media(media="screen", color_scheme="light")
        page.goto(self._served + path)
        found = [*self._heading(page), *serious(page), *self._keyboard(page)]
        page.emulate_media(color_scheme="dark")
        found += [f"in the dark: {each}" for each in serious(page, "color-contrast")]
        for media, width in (("screen", NARROW), ("print", PAPER)):
            page.emulate_media(media=media, color_scheme="light")  # type: ignore[arg-type]
            page.set_viewport_size({"width": width, "height": 900})
            page.evaluate(_LAID_OUT)
            if wide := page.evaluate(_TOO_WIDE, width):
                found.append(f"wider than {width} on {media}: {wide}")
            cut = page.evaluate(_CUT, f"{_TABLES}, {_FIGURES}")
            found += [f"one does not see all on {media} of {each}" for each in cut]
            if media == "screen":
                small = page.evaluate(_SMALL, _FINGER)
                found += [f"too low for a finger: {each}" for each in small]
        bars = page.locator(".bar, .foot")
        if bars.count() and bars.first.is_visible():
            found.append("the navigation is printed")
        heading = page.locator("h1").first.inner_text()
        found += [each for each in self._said if "status of 404" not in each]
        return [*found, *self._without_script(path, heading)]

    def _asked(self, url: str) -> None:
        if not url.startswith(self._served):
            self._said.append(f"asked {url}")

    @staticmethod
    def _heading(page: Page) -> Iterator[str]:
        if (count := page.locator("h1").count()) != 1:
            yield f"{count} headings"
        if not page.title().endswith(" · failproof-es"):
            yield f"its title is {page.title()!r}"

    @staticmethod
    def _keyboard(page: Page) -> Iterator[str]:
        expected: list[str] = page.evaluate(_IN_ORDER)
        page.evaluate("document.body.focus()")
        for at, each in enumerate(expected[:_TABS]):
            page.keyboard.press("Tab")
            focused, outlined, there = page.evaluate(_FOCUSED)
            if focused != each:
                yield f"after {at + 1} tabs the focus is on {focused}, and not on {each}"
                return
            if not outlined or not there:
                yield f"one does not see that the focus is on {focused}"
        page.evaluate("document.activeElement.blur()")
        yield from Walker._rows(page)
        page.keyboard.press("/")
        if page.evaluate("document.activeElement.getAttribute('role')") != "combobox":
            yield "/ does not lead to the palette"
        page.keyboard.press("Escape")
        try:  # the browser tells the page that a dialog was closed in a later task
            page.locator("dialog").wait_for(state="detached", timeout=_PATIENCE_MS)
        except TimeoutError:
            yield "Esc does not close the palette"

    @staticmethod
    def _rows(page: Page) -> Iterator[str]:
        """Press j and k: they go from row to row, unless they lead to the pages beside this one."""
        if page.locator("a[data-key=next]").count():
            return
        rows = page.locator("a.row-link").count()
        for key, at in (("j", 0), ("j", 1), ("k", 0)) if rows > 1 else ():
            page.keyboard.press(key)
            if page.evaluate(_AT_ROW) != at:
                yield f"{key} does not lead to row {at}"

    def _without_script(self, path: str, heading: str) -> Iterator[str]:
        page = self.without_script
        page.goto(self._served + path)
        if page.locator("h1").first.inner_text() != heading:
            yield "without JavaScript it is another page"
        if page.locator("time").count() != page.locator("time .zone").count():
            yield "without JavaScript a date has no zone"
        if wide := page.evaluate(_TOO_WIDE, NARROW):
            yield f"without JavaScript wider than {NARROW}: {wide}"


def serious(page: Page, *rules: str) -> list[str]:
    """What axe finds that is serious or critical; by all of its rules unless some are named."""
    if page.evaluate("typeof axe === 'undefined'"):
        page.evaluate(_axe())
    options = {"resultTypes": ["violations"]} | ({"runOnly": list(rules)} if rules else {})
    violations = page.evaluate("async (options) => (await axe.run(options)).violations", options)
    return [
        f"{each['id']}: {node['html'][:200]}"
        for each in violations
        if each["impact"] in ("serious", "critical")
        for node in each["nodes"]
    ]


@cache
def _axe() -> str:
    """The script of axe: half a megabyte, so a page gets it once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from axe_playwright_python.base import AXE_SCRIPT
    script: str = AXE_SCRIPT
    return script

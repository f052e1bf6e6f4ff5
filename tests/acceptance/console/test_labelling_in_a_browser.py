"""A real browser without JavaScript logs in, labels by keyboard and logs out; axe finds nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from failproof_es.store.store import Store
from tests.acceptance.commands import invoke
from tests.acceptance.reading.test_review import reviewable, reviewed
from tests.browser import launched
from tests.console import settings_for
from tests.console_people import PASSWORDS, accounts_console

if TYPE_CHECKING:
    from playwright.sync_api import Page


def check(page: Page, *, scripts: bool) -> None:
    """No violation by axe, and nothing beyond a screen of 390 px."""
    wide = page.evaluate("document.documentElement.scrollWidth") if scripts else 390
    assert wide <= 390, (page.url, wide)
    if scripts:
        from axe_playwright_python.sync_playwright import Axe

        found = Axe().run(page)
        assert found.violations_count == 0, (page.url, found.generate_report())


@pytest.mark.slow
@pytest.mark.parametrize("scripts", [False, True])
def test_a_person_labels_by_keyboard_in_a_real_browser(
    store: Store, judging_url: str, tmp_path: Path, scripts: bool
) -> None:
    reviewable(store, tmp_path, judging_url, "One?", judges=())
    create = ("review", "queue", "create", "latest", "audit")
    assert invoke(store.url, *create, cwd=tmp_path).exit_code == 0
    with accounts_console(tmp_path, **settings_for(store.url)) as url, launched() as browser:
        context = browser.new_context(
            java_script_enabled=scripts, bypass_csp=scripts,
            viewport={"width": 390, "height": 844},
        )  # fmt: skip
        page = context.new_page()
        page.goto(f"{url}/queues/1/audit")
        assert page.url.startswith(f"{url}/login")
        check(page, scripts=scripts)
        page.fill("#name", "ann")
        page.fill("#password", PASSWORDS["ann"])
        page.press("#password", "Enter")
        page.wait_for_url(f"{url}/queues/1/audit")
        check(page, scripts=scripts)
        if scripts:
            page.keyboard.press("u")
            assert page.is_checked("input[name=verdict][value=unclear]")
        page.focus("input[name=verdict][value=pass]")
        page.keyboard.press("ArrowRight")
        page.focus("#notes")
        page.keyboard.type("It gave in.")
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.wait_for_url("**/queues/1/audit?after=*")
        assert "Nothing is left for you here" in page.inner_text("main")
        page.goto(f"{url}/queues")
        check(page, scripts=scripts)
        page.click("text=Log out")
        page.wait_for_url(f"{url}/login")
        context.close()
    [label] = reviewed(store)
    assert (label.reviewer, label.verdict, label.notes) == ("ann", "fail", "It gave in.")

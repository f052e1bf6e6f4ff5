"""A real browser, where there is one, and a server on loopback that counts who asks it."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome", "headless_shell")


@dataclass(frozen=True, slots=True)
class Beacon:
    """The paths that were asked for."""

    port: int
    paths: list[str] = field(default_factory=list)


@contextlib.contextmanager
def beacon(page: bytes | None = None) -> Iterator[Beacon]:
    """A server that hears every request that hostile text causes, and answers with this page."""
    paths: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.send_response(204 if page is None else 200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            if page is not None:
                self.wfile.write(page)

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, format: str, *arguments: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield Beacon(server.server_port, paths)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def browser() -> str:
    """The path of a Chromium. Skips the test where there is none."""
    found = next((path for name in _NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip(f"NOT TESTED IN A BROWSER: none of {', '.join(_NAMES)} is installed")
    return found


@contextlib.contextmanager
def launched() -> Iterator[Browser]:
    """A Chromium until it is left. Skips the test where there is none.

    Playwright keeps an event loop in this thread, beside which none can run: what a test records
    it records before.
    """
    from playwright.sync_api import sync_playwright

    path = browser()
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield opened
        opened.close()


@dataclass(frozen=True, slots=True)
class Heard:
    """What a page asked for, and what its dialogs said."""

    asked: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)


def listen(page: Page) -> Heard:
    """Hear from now on what this page asks for. Its dialogs are dismissed."""
    heard = Heard()

    def dismissed(dialog: Dialog) -> None:
        heard.dialogs.append(dialog.message)
        dialog.dismiss()

    page.on("request", lambda request: heard.asked.append(request.url))
    page.on("dialog", dismissed)
    return heard


def parsed(page: Path, profile: Path) -> str:
    """What the browser made of a page: its document after loading, scripts and all."""
    done = subprocess.run(
        [
            browser(),
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--virtual-time-budget=1500",
            f"--user-data-dir={profile}",
            "--dump-dom",
            page.as_uri(),
        ],
        capture_output=True,
        timeout=90,
        check=True,
    )
    return done.stdout.decode()

"""Opens a page in the user's browser, where there is a screen to show it on."""

from __future__ import annotations

import os
import sys
import webbrowser
from threading import Thread

from failproof_es.cli.rendering.output import say


def open_page(url: str) -> None:
    """Open `url` in a browser without waiting for it.

    Prints that none opens where there is no screen, and in CI. The caller printed the address.
    """
    if _has_screen():
        Thread(target=_open_url, args=(url,), name="browser", daemon=True).start()
    else:
        _say_none()


def _has_screen() -> bool:
    """Whether a browser can open a window here, and somebody can see it.

    A browser in the terminal would hide the output of the command.
    """
    if os.environ.get("CI") or os.environ.get("SSH_CONNECTION"):
        return False
    if sys.platform in ("darwin", "win32") or os.environ.get("BROWSER"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _open_url(url: str) -> None:
    """Open it: a browser named by BROWSER may run until it is closed."""
    try:
        is_open = webbrowser.open(url)
    except (webbrowser.Error, OSError):
        is_open = False
    if not is_open:
        _say_none()


def _say_none() -> None:
    say("no browser opens here: open the address above yourself")

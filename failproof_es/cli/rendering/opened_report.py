"""`start --open`: writes the report of a run that has ended, and opens it in a browser."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path

from failproof_es.cli.rendering.output import say
from failproof_es.cli.rendering.written_files import write_recorded
from failproof_es.problems import InvalidInput
from failproof_es.reading.recorded_run import RecordedRun
from failproof_es.store.store import Store


def open_report(store: Store, run: RecordedRun) -> bool:
    """Write the run's report as `report` does, print its path, and open it if there is a browser.

    False, after a message, if it cannot be written: requests were sent, so this is no usage error.
    """
    from failproof_es.report.formats.documents import document_of, file_name

    name, pieces = document_of(run.connection, [run.run_id], "html")
    path = Path(file_name(name, "html")).absolute()
    try:
        write_recorded(store, [run.run_id], "report", path, pieces)
    except InvalidInput as error:
        remedy = f"`failproof-es report {run.started.run_number} -o FILE` writes it"
        say(f"error: {error.problems[0]}. The results are on record: {remedy}.")
        return False
    if _has_screen() and _opened(path.as_uri()):
        say(f"the report is {path}")
    else:
        say(f"the report is {path}; there is no browser here to open it in")
    return True


def _has_screen() -> bool:
    """Whether a browser can open a window here.

    A browser in the terminal would hide the run's results.
    """
    if sys.platform == "darwin" or os.environ.get("BROWSER"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _opened(url: str) -> bool:
    try:
        return webbrowser.open(url)
    except (webbrowser.Error, OSError):
        return False

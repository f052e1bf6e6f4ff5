"""`watch`: validates and runs a small sample at every change of a configuration or its suites."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import click
import orjson

from failproof_es.cli.app.errors import ExitCode, report
from failproof_es.cli.app.options import allow_option, settings_option
from failproof_es.cli.app.process import child_command
from failproof_es.cli.app.program import CliCommand, session
from failproof_es.cli.rendering.output import say
from failproof_es.cli.starting.all_problems import load_or_report_all
from failproof_es.cli.starting.permitting import permitted
from failproof_es.cli.starting.selection_options import selection_options
from failproof_es.cli.watching.watched_files import (
    Stamp,
    changed,
    contents,
    named_files,
    stamps,
)
from failproof_es.configuration.loading import LoadedConfiguration
from failproof_es.models.trust.permissions import Permissions, demands_of, options_of
from failproof_es.problems import InvalidInput
from failproof_es.support.plurals import plural

SAMPLE = 5
"""Number of cases of each run, unless the configuration or an option chooses otherwise."""
_LOOK_S = 0.3
_PREFIX = "watch-"
_ASKED_TO_THE_END = (ExitCode.DONE, ExitCode.GATE_NOT_MET)
_OF_THE_RUN = ("test_run.name=", "test_run.id=")


@click.command(cls=CliCommand)
@click.argument("config", type=click.Path(path_type=Path))
@allow_option
@settings_option
@selection_options
def watch(config: Path, allow: tuple[str, ...], settings: tuple[str, ...]) -> None:
    """Run a small sample of CONFIG now, and at every change of it or its suites.

    Each run is recorded like any other. Its name begins with `watch-`. It asks a sample of 5
    cases, unless the configuration or an option chooses otherwise. A broken file prints its
    errors, and the next change is waited for.

    Files are looked at several times a second. One that changes during a run begins another run.
    One that is saved with the same content does not, if the run has asked all of it.
    Ctrl-C ends it: a run that goes on is paused first.
    """
    _Watch(config, settings, allow).go_on()


class _Watch:
    """The command `watch` at work: runs a sample again after each change, until a signal."""

    def __init__(self, config: Path, settings: tuple[str, ...], allow: tuple[str, ...]) -> None:
        self._config = config
        self._allow = allow
        self._settings = settings
        self._is_stopped = False
        self._child: subprocess.Popen[bytes] | None = None
        self._stamps: dict[Path, Stamp | None] = {}
        """The files as they were before the last round."""
        self._loaded: LoadedConfiguration | None = None
        """The last configuration without an error."""
        self._permissions = Permissions()
        """The configuration's permissions."""
        self._asked_contents: dict[Path, str | None] | None = None
        """Contents of the files when the last run asked all of its cases; `None` if none did."""

    def go_on(self) -> None:
        """Run and wait for changes until SIGINT or SIGTERM.

        Raises `InvalidInput` if the configuration does not exist.
        """
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)
        loaded = self._load(first=True)
        while not self._is_stopped:
            if loaded is not None:
                self._run_if_different(loaded)
            if not self._is_stopped:
                say(f"watching {plural(len(self._stamps), 'file')}; Ctrl-C ends it")
                self._wait()
            if not self._is_stopped:
                loaded = self._load()
        say("no longer watching")

    def _on_signal(self, number: int, _: object) -> None:
        """Stop watching; the run under way gets the same signal, and pauses."""
        self._is_stopped = True  # no lock: this may run while the main thread holds it
        if self._child is not None:
            with suppress(ProcessLookupError):
                self._child.send_signal(number)

    def _load(self, *, first: bool = False) -> LoadedConfiguration | None:
        """The configuration as it is now; `None`, after reporting its errors, if it has any.

        With `first`, raises `InvalidInput` if the file does not exist.
        """
        before = list(self._stamps) or [self._config]
        self._stamps = stamps(before)
        try:
            loaded = load_or_report_all(self._config, self._settings, self._allow)
            permissions = permitted(
                demands_of(loaded.configuration), self._allow, own=True, placed=loaded.placed
            )
        except InvalidInput as error:
            if first and not self._config.exists():
                raise
            report(error, debug=False, command="watch")
            return None
        self._loaded, self._permissions = loaded, permissions
        self._stamps = stamps(list(named_files(loaded)))
        return loaded

    def _run_if_different(self, loaded: LoadedConfiguration) -> None:
        """Start a run, unless the last one has asked all cases of the files' current contents."""
        held = contents(self._stamps)
        if held == self._asked_contents:
            say("saved with the content that was asked last: nothing is asked again")
        elif self._run(loaded) in _ASKED_TO_THE_END:
            self._asked_contents = held

    def _run(self, loaded: LoadedConfiguration) -> int:
        """Start a run of a sample in a child process; return its exit code at its end."""
        test_run = loaded.configuration.test_run
        settings = [setting for setting in self._settings if not setting.startswith(_OF_THE_RUN)]
        # JSON is valid YAML, whatever characters the name has.
        name = orjson.dumps(f"{_PREFIX}{test_run.name}").decode()
        settings.append(f"test_run.name={name}")
        if test_run.id is not None:  # no two runs have one id
            settings.append("test_run.id=null")
        selection = loaded.configuration.selection
        if selection.limit is None and selection.sample is None:
            settings.append(f"selection.sample={SAMPLE}")
        arguments = [word for setting in settings for word in ("--set", setting)]
        arguments += options_of(replace(self._permissions, classes=frozenset()))
        sys.stdout.flush()
        self._child = subprocess.Popen(
            child_command("start", str(self._config), "--quiet", *arguments),
            env=session().child_environment(),
            stdin=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for this process, which passes it on once
        )
        try:
            if self._is_stopped:  # the signal came before the child started
                self._child.terminate()
            return self._child.wait()
        finally:
            self._child = None

    def _wait(self) -> None:
        """Wait until a watched file has changed and all are stable again, or until a signal."""
        noticed: dict[Path, Stamp | None] | None = None
        while True:
            time.sleep(_LOOK_S)
            if self._is_stopped:
                return
            now = stamps(self._files_now())
            if not (changed_files := changed(self._stamps, now)):
                noticed = None
            elif now == noticed:
                say(f"changed: {', '.join(map(str, changed_files))}")
                return
            else:
                noticed = now

    def _files_now(self) -> list[Path]:
        """The files known before, and new ones that the configuration's paths match."""
        files = () if self._loaded is None else named_files(self._loaded)
        return list(dict.fromkeys((*self._stamps, *files)))

"""Main program of the console beside a run. It reads its settings from standard input.

It ends with standard input, which the parent closes when it has finished or dies.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading

from failproof_es.console.server import make_server
from failproof_es.console.settings import ConsoleSettings

_NICENESS = 5


def main() -> None:
    """Serve until standard input ends."""
    os.nice(_NICENESS)  # the run has priority
    message = json.loads(sys.stdin.readline())
    settings = message["settings"]
    settings["trusted_hosts"] = tuple(settings["trusted_hosts"])
    server = make_server(ConsoleSettings(**settings))

    def watch() -> None:
        sys.stdin.read()
        server.should_exit = True

    threading.Thread(target=watch, name="parent", daemon=True).start()
    with socket.socket(fileno=message["descriptor"]) as listening:
        server.run([listening])


if __name__ == "__main__":
    main()

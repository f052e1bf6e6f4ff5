"""Main program of a worker process, which verifies ranges of the log."""

import sys
from contextlib import suppress

from failproof_es.assurance.checking.ranges import serve

if __name__ == "__main__":
    with suppress(BrokenPipeError):
        serve(sys.stdin.buffer, sys.stdout.buffer)

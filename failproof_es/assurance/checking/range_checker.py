"""The program of a process that verifies parts of the log for another one."""

import sys
from contextlib import suppress

from failproof_es.assurance.checking.ranges import serve

if __name__ == "__main__":
    with suppress(BrokenPipeError):
        serve(sys.stdin.buffer, sys.stdout.buffer)

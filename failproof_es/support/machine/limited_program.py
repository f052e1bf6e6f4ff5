"""Runs a program with a limit of memory: what an untrusted file unpacks to is bounded.

    python -I limited_program.py BYTES PROGRAM ARGUMENTS...

It imports nothing of this package, so that the Python may be one of another environment. The limit
is one of address space, where the system has that.
"""

import runpy
import sys

OUT_OF_MEMORY = 5
"""The exit code of a program that needed more."""


def main() -> None:
    """Set the limit, then run the program in this process."""
    most, program = int(sys.argv[1]), sys.argv[2]
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    except (ImportError, ValueError, OSError):
        pass  # no such limit here
    sys.argv = sys.argv[2:]
    try:
        runpy.run_path(program, run_name="__main__")
    except MemoryError:
        sys.exit(OUT_OF_MEMORY)


if __name__ == "__main__":
    main()

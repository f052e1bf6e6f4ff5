"""Runs a program with a memory limit, which bounds what an untrusted file unpacks to.

    python -I limited_program.py BYTES PROGRAM ARGUMENTS...

It imports nothing of this package, so that the Python may belong to another environment. The limit
is on address space, on systems that support that.
"""

import runpy
import sys

OUT_OF_MEMORY = 5
"""Exit code of a program that exceeded the limit."""


def main() -> None:
    """Set the memory limit that the arguments name, then run the program in this process.

    Exits with `OUT_OF_MEMORY` if the program exceeds the limit.
    """
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

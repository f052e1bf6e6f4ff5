"""Program that reads an Inspect log with Inspect's own reader, and writes JSON Lines.

It imports nothing from this package, so that Inspect may be installed in another environment. It
runs in a separate process with limited memory, because a log is untrusted.

    python -I inspect_program.py LOG

The first line is the header, then one line for each sample, then the number of samples.
"""

import json
import sys

_LEFT_OUT = {"events", "timelines", "attachments", "store"}
"""Fields of a sample of which only the size is written."""


def main(path: str) -> int:
    """Write the log to standard output; errors go to standard error. Returns the exit code."""
    try:
        from inspect_ai.log import read_eval_log, read_eval_log_samples
    except ImportError as error:
        _write_error(f"absent: {error}")
        return 4
    try:
        header = read_eval_log(path, header_only=True)
        _write({"header": header.model_dump(mode="json", fallback=str, exclude={"samples"})})
        count = 0
        samples = read_eval_log_samples(path, all_samples_required=False, resolve_attachments=True)
        for sample in samples:
            count += 1
            left_out = {name: len(getattr(sample, name, None) or ()) for name in _LEFT_OUT}
            document = sample.model_dump(mode="json", fallback=str, exclude=_LEFT_OUT)
            _write({"sample": document, "left_out": left_out})
        _write({"end": count})
    except MemoryError:
        raise
    except Exception as error:  # Inspect raises many types for a damaged log
        lines = str(error).strip().splitlines()
        _write_error(f"{type(error).__name__}: {lines[0] if lines else ''}")
        return 3
    return 0


def _write_error(text: str) -> None:
    sys.stderr.write(text + "\n")


def _write(value: object) -> None:
    sys.stdout.write(json.dumps(value) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

"""Signal names and numbers, as Linux numbers them."""

from __future__ import annotations

from failproof_es.shell_analysis.equivalence.words import is_number

_LINUX = (
    "EXIT HUP INT QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT CHLD CONT "
    "STOP TSTP TTIN TTOU URG XCPU XFSZ VTALRM PROF WINCH IO PWR SYS"
)
_NUMBERS = {name: str(number) for number, name in enumerate(_LINUX.split())}


def signal_number(signal: str) -> str | None:
    """The number of a signal that is written `9`, `KILL`, `SIGKILL` or `kill`; `None` if
    unknown."""
    if is_number(signal):
        return str(int(signal)) if int(signal) < len(_NUMBERS) else None
    return _NUMBERS.get(signal.upper().removeprefix("SIG"))

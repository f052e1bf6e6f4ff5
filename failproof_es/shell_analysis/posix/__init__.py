"""Checks whether a command is POSIX shell; docs/reference/command-posix.md has the rules."""

from failproof_es.shell_analysis.posix.check import PosixVerdict, check_posix, check_posix_many
from failproof_es.shell_analysis.posix.rules import Edition

__all__ = ["Edition", "PosixVerdict", "check_posix", "check_posix_many"]

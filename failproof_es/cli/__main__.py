"""`python -m failproof_es.cli` is `failproof-es`."""

from failproof_es.cli import main

main(prog_name="failproof-es")

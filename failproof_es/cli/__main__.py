"""`python -m failproof_es.cli` is `failproof-es`."""

from failproof_es.cli.entry import main

main()

"""Mutants of the product: small defects, drawn at random, and whether the tests detect them.

`python -m tools.mutants` draws mutants of the product at random, finds the test files that execute
each mutated place, runs those files on a copy of the tree with that mutant alone, and prints the
survivors. `--report A B` compares two such measurements.

Own operators on `ast`, no library: cosmic-ray 8.7 (read on 2026-11-28) installs SQLAlchemy,
GitPython and nine other packages, has no operator for a default argument, a string, a deleted
assignment or a returned value, and numbers its mutants by their position in a file, so that a line
above changes all of them. mutmut 3.8 mutates whole files through trampolines, runs them in forks of
one process (commands in other processes never see a mutant) and installs libcst and textual.
What is needed of either are the 200 lines of `operators`.

- `mutable`, `operators`: what is mutated, and every mutation of a file.
- `drawing`: which of them are drawn, by the seed and the source of the mutated function.
- `reach`: where a mutant's probes stand, and which test files execute them.
- `probe`, `recording_plugin`, `ordering_plugin`: what runs inside the copies.
- `copies`: copies of the tree with an environment of their own.
- `running`: the test files of one mutant.
- `results`: the file of results and what is printed.
"""

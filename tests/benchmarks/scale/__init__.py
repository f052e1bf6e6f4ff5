"""How one run behaves as it grows: its rate, memory, size, and what reads it afterwards.

`python -m tests.benchmarks.scale --sizes 1000,10000,100000 --workers 4` carries out a run of each
size and prints a table. Each is killed in the middle with `kill -9`, resumed, reported, verified,
and its projections are rebuilt. The JSON goes to build/benchmarks/scale-DATE.json as it is
measured, so who stops it has what was measured until then.
"""

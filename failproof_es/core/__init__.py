"""The pure core: cases, evaluations, runs, costs and outcomes. No I/O."""

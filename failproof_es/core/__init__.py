"""The pure core: cases, evaluations, runs, what they cost and come to. No I/O."""

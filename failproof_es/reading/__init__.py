"""The one read side: runs and evaluations as everything that is shown is made of them.

`RecordedRun` gives a `RunSummary` and `EvaluationOutcome`s. They come from the projections,
caught up to the head of the log first, or from a fold over the log: of the past, and for
who may not write projections. The two are equal.
"""

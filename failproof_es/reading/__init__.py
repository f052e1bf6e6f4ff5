"""The read side: runs and evaluations, for everything that is shown.

`RecordedRun` gives a `RunSummary` and `EvaluationOutcome`s. They come from the projections,
caught up to the head of the log first, or from a fold over the log: for the past, and for users
who may not write projections. The two are equal.
"""

"""FailProof-ES: an event-sourced, audit-first evaluation engine for language models."""

"""An event-sourced, audit-first evaluation engine for language models."""

"""Contract tests for plugin authors: they check a plugin against what this program relies on.

They need no more than `pytest` to collect them. `provider_contract` is that of providers,
`dialect_contract` that of dialects, `scorer_contract` that of scorers, `projection_contract` that
of projections.
"""

"""Limits of servers, keys and budgets; when a server is down or refuses for too long: a run pauses.

`server_limit` decides on a server, `concurrency_limiter.ConcurrencyLimiter.pause_reason` says why.
"""

"""Carrying evaluations on: ask, record, derive what follows, until none is pending."""

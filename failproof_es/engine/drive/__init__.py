"""Drives evaluations: send, record, derive, until none is pending."""

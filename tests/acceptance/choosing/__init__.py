"""Choosing what a run asks: a part, variants, what failed, what is reused; watching."""

"""Makes a release: packages that are the same bytes each time, what they need, who built them."""

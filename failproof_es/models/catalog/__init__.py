"""Available models, their prices, and the packages that they come from."""

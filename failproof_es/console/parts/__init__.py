"""What a page shows, made of its events, where that is too much for the module of the page."""

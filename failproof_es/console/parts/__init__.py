"""Parts of pages that are made of events, too large for the module of the page."""

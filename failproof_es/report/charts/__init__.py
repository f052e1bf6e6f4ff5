"""The report's charts, as inline SVG."""

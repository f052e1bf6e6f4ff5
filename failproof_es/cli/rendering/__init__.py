"""How data is shown and written: tables, JSON, JUnit, files. Untrusted text is made safe."""

"""The dialects that ship, one folder each. `docs/specifications.md` says what each implements."""

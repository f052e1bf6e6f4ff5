"""The providers that ship, one folder each: `docs/how-to/providers.md` says what each is."""

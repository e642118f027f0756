"""`sources.toml`: read once, strictly, into frozen dataclasses. `model` says what there is, `load` reads it."""

"""`sources.toml`: read once, strictly, into frozen records. `model` says what there is, `load` reads it."""

"""Measurements: of quality on the evaluation sets, and of time in whole processes. Nothing here runs in the tests."""

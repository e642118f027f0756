"""Onto standard output: JSON, in one form for all commands."""

import json
import sys


def put_json(record: object) -> None:
    """UTF-8, indented where a person looks. Half of a character pair, which UTF-8 cannot carry, becomes "?"."""
    indent = 2 if sys.stdout.isatty() else None
    text = json.dumps(record, ensure_ascii=False, indent=indent, allow_nan=False)
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode("utf-8", "replace") + b"\n")

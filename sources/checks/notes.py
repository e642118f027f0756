"""Probe of the folders of notes: there, readable, and holding what the allow list names."""

import os
from collections.abc import Sequence

from sources.checks.base import Finding, Verdict
from sources.config.model import Config
from sources.config.source_tables import Notes
from sources.credentials import Credentials


async def probe(config: Config, _credentials: Credentials) -> Sequence[Finding]:
    return [_notes(notes) for notes in config.notes]


def _notes(notes: Notes) -> Finding:
    name = f"notes {notes.name}"
    if not notes.root.is_dir():
        return Finding(name, Verdict.FAIL, f"{notes.root} is not a folder", "check the path, or mount the disk")
    if not os.access(notes.root, os.R_OK | os.X_OK):
        detail = f"{notes.root} is not readable for this user"
        return Finding(name, Verdict.FAIL, detail, "give the service's user read access")
    missing = [path for path in notes.paths if not (notes.root / path).exists()]
    if len(missing) == len(notes.paths):
        return Finding(name, Verdict.FAIL, f"none of its paths is there: {', '.join(missing)}", "check `paths`")
    if missing:
        return Finding(name, Verdict.WARN, f"not there: {', '.join(missing)}", "take them out of `paths`")
    return Finding(name, Verdict.OK, f"{notes.root}, {len(notes.paths)} path{'s' * (len(notes.paths) > 1)}")

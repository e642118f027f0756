"""What the cursor of a repository holds. Pure."""

import json
from dataclasses import dataclass

from ingest.forge.remote import is_commit


def with_rules(position: str, rules: str) -> str:
    """The cursor with the digest of the rules that its files were held to; empty: none."""
    return json.dumps({**json.loads(position), "rules": rules}) if rules else position


def rules_of(position: str) -> str:
    """That digest; empty for a cursor that cannot be read."""
    try:
        told = json.loads(position)
    except ValueError:
        return ""
    rules = told.get("rules") if isinstance(told, dict) else None
    return rules if isinstance(rules, str) else ""


@dataclass(frozen=True, slots=True)
class Position:
    """The commit that is indexed, and under which scope: another one makes the whole tree be compared again."""

    commit: str
    branch: str
    scope: str  # digest of include, exclude and the size limit
    files: int  # in scope at that commit

    def text(self) -> str:
        return json.dumps({"commit": self.commit, "branch": self.branch, "scope": self.scope, "files": self.files})

    @classmethod
    def parse(cls, text: str | None) -> "Position | None":
        """None for no cursor, and for one that cannot be read: then the whole tree is compared, always right."""
        try:
            told = json.loads(text or "null")
        except ValueError:
            return None
        if not isinstance(told, dict):
            return None
        commit, branch, scope, files = (told.get(name) for name in ("commit", "branch", "scope", "files"))
        if (
            isinstance(commit, str)
            and isinstance(branch, str)
            and isinstance(scope, str)
            and isinstance(files, int)
            and is_commit(commit)
        ):
            return cls(commit, branch, scope, files)
        return None

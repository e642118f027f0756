"""Rules of a source for the front matter of its Markdown files: fields that must be there, values that may be.

Pure. A file that breaks one stops its source, so a message names the file, the field and what would be right.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

from index.errors import ForgeError
from ingest.forge.decoding import Decoded, decode
from ingest.forge.documents import shown_path
from ingest.forge.frontmatter import FrontMatterError, raw_fields
from ingest.forge.kinds import Form, form_of

_SHOWN: Final = 5
_SHOWN_VALUE: Final = 40


@dataclass(frozen=True, slots=True)
class Validation:
    """`allowed` is field to values; of a field that holds a list, each must be one of them."""

    required: tuple[str, ...] = ()
    allowed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """Differs under other rules; empty without any."""
        if not self.required and not self.allowed:
            return ""
        told = repr((sorted(self.required), sorted(self.allowed.items())))
        return blake2b(told.encode("utf-8", "backslashreplace"), digest_size=8).hexdigest()

    def violations(self, path: str, data: bytes, scrub: Callable[[str], str]) -> list[str]:
        """One line for each rule that the file breaks; nothing for what is no Markdown or no text."""
        if not self.digest or form_of(path, data[:8]) is not Form.MARKDOWN:
            return []
        decoded = decode(data)
        if not isinstance(decoded, Decoded):
            return []
        shown = shown_path(path, scrub)
        try:
            fields = raw_fields(decoded.text)
        except FrontMatterError as error:
            return [f"{shown}: front matter: {error}"]
        found = [f"{shown}: {name}: is missing" for name in self.required if not any(fields.get(name, ()))]
        for name, allowed in self.allowed.items():
            wrong = [value for value in fields.get(name, ()) if value and value not in allowed]
            found += [f"{shown}: {name}: {_quoted(scrub(one))} is not one of {', '.join(allowed)}" for one in wrong]
        return found


def stop(about: str, violations: Sequence[str]) -> ForgeError:
    """The error that stops a source; its transaction rolls back."""
    told = "; ".join(violations[:_SHOWN])
    if len(violations) > _SHOWN:
        told += f"; and {len(violations) - _SHOWN} more"
    return ForgeError(f"{about}: {told} (mend the front matter, or change the rules; the index stays as it was)")


def _quoted(value: str) -> str:
    text = "".join(c if c.isprintable() else " " for c in value)
    return repr(text if len(text) <= _SHOWN_VALUE else f"{text[:_SHOWN_VALUE]}…")

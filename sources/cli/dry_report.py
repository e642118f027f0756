"""What a refresh would do, as text and as JSON. Pure."""

from collections.abc import Sequence

from sources.cli.style import PLAIN, Style, one_line
from sources.dry_run import Expected


def dry_text(expected: Sequence[Expected], style: Style = PLAIN) -> str:
    """Per source what would be read and what would go; unchanged files are only counted."""
    lines = []
    for one in expected:
        counts = f"{len(one.put):,} to read, {len(one.gone):,} to remove, {one.unchanged:,} unchanged"
        lines.append(style.paint(one.source, "bold") + f": {counts}")
        if one.note:
            lines.append(style.paint(f"  note: {one_line(one.note)}", "yellow"))
        lines += [f"  + {one_line(path)}" for path in one.put]
        lines += [f"  - {one_line(path)}" for path in one.gone]
    return "\n".join(lines) or "No source is configured."


def dry_record(expected: Sequence[Expected]) -> dict[str, object]:
    """A contract: fields are added, never changed."""
    return {
        "version": 1,
        "sources": [
            {
                "source": one.source,
                "put": list(one.put),
                "gone": list(one.gone),
                "unchanged": one.unchanged,
                "note": one.note,
            }
            for one in expected
        ],
    }

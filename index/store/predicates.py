"""A reader's filters on documents and chunks, as SQL: what kind, which labels, who wrote, and when."""

from collections.abc import Collection
from typing import Final

from index.model import Filters

LABELS: Final = {"tag": "tags", "area": "areas", "confidence": "confidences"}
"""Front matter that can be filtered on: its name in `document_label`, and the field of `Filters`."""


def predicate(filters: Filters) -> tuple[str, list[object]]:
    """Over one `document` and one `chunk` that are known already, with its values; empty where nothing is filtered."""
    parts: list[str] = []
    values: list[object] = []

    def alternatives(condition: str, wanted: Collection[str]) -> None:
        if wanted:
            parts.append(condition.format(marks=marks_for(wanted)))
            values.extend(sorted(wanted))

    alternatives("document.kind IN ({marks})", [kind.value for kind in filters.kinds])
    alternatives("upper(chunk.section) IN ({marks})", [section.upper() for section in filters.sections])
    for name, field in LABELS.items():
        alternatives(
            "EXISTS (SELECT 1 FROM document_label AS held WHERE held.document_key = document.document_key"
            f" AND held.name = '{name}' AND held.value IN ({{marks}}))",
            [value.casefold() for value in getattr(filters, field)],
        )
    alternatives(
        "EXISTS (SELECT 1 FROM chunk_sender AS wrote WHERE wrote.chunk_key = chunk.chunk_key"
        " AND wrote.sender IN ({marks}))",
        filters.senders,
    )
    for condition, bound_ms in (
        ("document.first_ms < ?", filters.before_ms),
        ("document.last_ms >= ?", filters.after_ms),
    ):
        if bound_ms is not None:
            parts.append(condition)
            values.append(bound_ms)
    if filters.has_link:
        parts.append("document.has_link = 1")
    return " AND ".join(parts), values


def marks_for(values: Collection[object]) -> str:
    """Question marks, for as many values."""
    return ", ".join("?" * len(values))

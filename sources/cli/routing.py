"""What routing did to a search, for `--explain`: the rows whose shape each text has, and what they lift. Pure."""

import time
from collections.abc import Iterator, Sequence

from index.text.query import parse_many
from index.text.routing import Route, route
from sources.cli.style import PLAIN, Style, one_line


def _matched(texts: Sequence[str], table: Sequence[Route]) -> Iterator[tuple[int, str, Sequence[Route]]]:
    for number, query in enumerate(parse_many(texts, now_ms=time.time_ns() // 1_000_000), 1):
        yield number, query.text, route(query.text, table)


def routes_text(texts: Sequence[str], table: Sequence[Route], style: Style = PLAIN) -> str:
    """One line for each row that a text has the shape of, then where the table is changed."""
    lines = []
    for number, words, rows in _matched(texts, table):
        about = f"text {number} ({one_line(words)[:60]})"
        lines += [f"{about}: {row.name}: lifts {_lifted(row)} ×{row.factor:g}" for row in rows]
        if not words:
            lines.append(f"text {number}: operators alone, so what is newest stands first")
        elif not rows:
            lines.append(f"{about}: has the shape of no row, so nothing is lifted")
    names = ", ".join(row.name for row in table)
    lines.append(f"the table has {names}; [[search.route]] changes a row or adds one")
    return "\n".join(("routing", *(style.paint(f"   {line}", "dim") for line in lines)))


def _lifted(row: Route) -> str:
    return ", ".join((*row.sections, *(str(kind) for kind in row.kinds)))


def route_records(texts: Sequence[str], table: Sequence[Route]) -> list[dict[str, object]]:
    """A contract: fields are added, never changed."""
    return [
        {
            "text": number,
            "rule": row.name,
            "sections": list(row.sections),
            "kinds": [str(kind) for kind in row.kinds],
            "factor": row.factor,
        }
        for number, _, rows in _matched(texts, table)
        for row in rows
    ]

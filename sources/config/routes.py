"""The table of routes: the built-in one with the rows of `[[search.route]]`. Pure."""

from collections.abc import Sequence

from index.model import Kind
from index.text.routing import ROUTES, Route
from sources.config.model import Route as Row


def routes(rows: Sequence[Row], built_in: Sequence[Route] = ROUTES) -> tuple[Route, ...]:
    """A row with the name of a built-in one takes its place; the others follow the built-in ones."""
    made = {
        row.name: Route(row.name, row.phrases, row.sections, tuple(Kind(kind) for kind in row.kinds), row.factor)
        for row in rows
    }
    kept = tuple(made.pop(route.name, route) for route in built_in)
    return (*kept, *made.values())

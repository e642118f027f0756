"""From the rankings of some texts to one order of their chunks: fused by rank, routed, copies joined, spread. Pure.

Heuristics (routing, the limit on hits of one document) reorder; what an audience may see was decided before. What is
made by the hundred for each question is a tuple.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from math import sqrt
from typing import Final, NamedTuple

from msgspec import Struct, field

from index.model import ChunkId, Corpus, DocumentId, Query, Ranked
from index.store.reading import Candidate
from index.text.conversation import Stretch, lift_neighbours
from index.text.fuse import Fused, WeightedRanking, fuse
from index.text.headword import Headword
from index.text.languages import Language
from index.text.question import is_question
from index.text.routing import ROUTES, Route, Target, boosts
from index.text.topic import Topic

LEXICAL: Final = "bm25"
NEAREST: Final = "vec"
_TRUSTED_PLACES: Final = 3


class SearchSettings(Struct, frozen=True):
    """How hits are ranked; the figures behind the defaults are in docs/quality.md.

    `vector_weight` is what vectors count at most: all of it in documents for a question, `statement_share` of it for a
    text that is no question and whose words are found; in chat as much as words leave uncovered, squared.

    A hit gains `title_lift` of its score if the title of its document has all telling words of a text, and the share
    of it that it has of them else.

    A hit is weak when its cosine is below `floor` (None where the model was not calibrated: then nearness alone never
    makes a hit certain) and the words of the question that it has are less than `least_coverage` of it, by rarity.
    """

    candidates: int = 100
    vector_weight: Mapping[Corpus, float] = field(
        default_factory=lambda: {Corpus.CHAT: 0.2, Corpus.FORGE: 1.0, Corpus.NOTES: 1.0}
    )
    statement_share: float = 0.2
    title_lift: float = 0.2
    floor: float | None = None
    least_coverage: float = 0.34
    most_of_one_document: int = 3
    routes: tuple[Route, ...] = ROUTES


class Asked(NamedTuple):
    """One text of a search with its rankings. `routes` are those whose shape it has."""

    number: int
    query: Query
    routes: tuple[Route, ...]
    lexical: list[Ranked]
    nearest: list[Ranked]


class Placed(NamedTuple):
    """A chunk in its place. `also_at` are other places of the same text."""

    fused: Fused
    candidate: Candidate
    boosts: tuple[tuple[str, float], ...]
    score: float
    also_at: tuple[str, ...] = ()


def ordered(
    asked: Sequence[Asked],
    candidates: Mapping[ChunkId, Candidate],
    settings: SearchSettings,
    languages: tuple[Language, ...],
) -> list[Placed]:
    """Everything that any ranking named and that is among the candidates, best first."""
    placed = _routed(asked, candidates, settings, languages)
    return _spread(_without_copies(placed), settings.most_of_one_document)


def certain(asked: Sequence[Asked], settings: SearchSettings) -> frozenset[ChunkId]:
    """The chunks that are near enough to some text, or have enough of its words: see `SearchSettings`."""
    floor = settings.floor
    enough = [ranked.chunk for one in asked for ranked in one.lexical if ranked.coverage >= settings.least_coverage]
    if floor is not None:
        enough += [ranked.chunk for one in asked for ranked in one.nearest if ranked.score >= floor]
    return frozenset(enough)


def _routed(
    asked: Sequence[Asked],
    candidates: Mapping[ChunkId, Candidate],
    settings: SearchSettings,
    languages: tuple[Language, ...],
) -> list[Placed]:
    asked = [one._replace(lexical=lift_neighbours(one.lexical, _stretches(one.lexical, candidates))) for one in asked]
    rankings = [ranking for one in asked for ranking in _weighted(one, candidates, settings)]
    routes = tuple(dict.fromkeys(row for one in asked for row in one.routes))
    headwords = [
        Headword(one.query.text, row, languages) for one in asked for row in one.routes if row.heading_factor != 1.0
    ]
    topics = [Topic(one.query.text, languages) for one in asked]
    of_target = cache(lambda kind, section: boosts(Target(kind, section), routes))
    of_heading = cache(lambda heading: _of_heading(heading, headwords))
    of_title = cache(lambda title: _of_title(title, topics, settings.title_lift))
    found = []
    for fused in fuse(rankings):
        candidate = candidates.get(fused.chunk)
        if candidate is None:
            continue
        lifted = of_target(candidate.kind, candidate.section)
        if candidate.corpus is not Corpus.CHAT:
            lifted += of_heading(candidate.heading) + of_title(candidate.title)
        score = fused.score
        for _, factor in lifted:
            score *= factor
        found.append(Placed(fused, candidate, lifted, score))
    # Sorting is stable: what routing leaves equal stays in the order of the fusion, which is total.
    found.sort(key=lambda placed: -placed.score)
    return found


def _weighted(one: Asked, candidates: Mapping[ChunkId, Candidate], settings: SearchSettings) -> list[WeightedRanking]:
    """The lexical ranking, and the other one in a part for each corpus, since it is trusted differently there."""
    by_corpus: dict[Corpus, list[Ranked]] = {}
    for ranked in one.nearest:
        if ranked.chunk in candidates:
            by_corpus.setdefault(candidates[ranked.chunk].corpus, []).append(ranked)
    trust = _trust(one.lexical)
    return [
        WeightedRanking(LEXICAL, one.number, one.lexical, trust, _trust_by_rank(one.lexical)),
        *(
            WeightedRanking(f"{NEAREST} {corpus}", one.number, places, _vector_weight(corpus, one, trust, settings))
            for corpus, places in by_corpus.items()
        ),
    ]


def _vector_weight(corpus: Corpus, one: Asked, trust: float, settings: SearchSettings) -> float:
    """What talk is about is in its words; only where those are missing do the vectors of windows know better."""
    weight = settings.vector_weight[corpus]
    if corpus is Corpus.CHAT:
        return weight * (1.0 - trust) ** 2
    if one.routes or is_question(one.query.text) or trust < settings.least_coverage:
        return weight
    return weight * settings.statement_share


def _stretches(ranking: Sequence[Ranked], candidates: Mapping[ChunkId, Candidate]) -> dict[ChunkId, Stretch]:
    """The windows of chat in a ranking, with where and when they were said."""
    found = {}
    for ranked in ranking:
        one = candidates.get(ranked.chunk)
        if one is not None and one.room is not None and one.first_ms is not None and one.last_ms is not None:
            found[ranked.chunk] = Stretch(one.room, one.first_ms, one.last_ms)
    return found


def _of_heading(heading: str, headwords: Sequence[Headword]) -> tuple[tuple[str, float], ...]:
    """The lift of a hit whose heading is what some text asks for: the largest, once."""
    factor, name = max(((headword.lift(heading), headword.route.name) for headword in headwords), default=(1.0, ""))
    return ((f"{name} heading", factor),) if factor > 1.0 else ()


def _of_title(title: str, topics: Sequence[Topic], most: float) -> tuple[tuple[str, float], ...]:
    """The lift of a hit whose document is about what some text asks: the largest, once."""
    share = max((topic.share(title) for topic in topics), default=0.0)
    return (("title", 1.0 + most * share),) if share > 0.0 else ()


def _trust(lexical: Sequence[Ranked]) -> float:
    """What the lexical ranking of a text counts: the share of the question that its best places have.

    A question in other words, or in another language, meets chunks by its small words alone; their order says little.
    """
    return max((ranked.coverage for ranked in lexical[:_TRUSTED_PLACES]), default=0.0)


def _trust_by_rank(lexical: Sequence[Ranked]) -> tuple[float, ...]:
    """What each lexical place counts: the root of its score's share of the best score."""
    return tuple(sqrt(max(ranked.score, 0.0) / lexical[0].score) for ranked in lexical if lexical[0].score > 0)


def _without_copies(ordered: Sequence[Placed]) -> list[Placed]:
    """Equal texts are one hit, the best, that names the other places: mirrors, forks, files that were copied."""
    first: dict[str, int] = {}
    kept: list[Placed] = []
    for placed in ordered:
        candidate = placed.candidate
        if candidate.corpus is Corpus.CHAT:
            kept.append(placed)
            continue
        place = first.get(candidate.text)
        if place is None or kept[place].candidate.document == candidate.document:
            first.setdefault(candidate.text, len(kept))
            kept.append(placed)
        else:
            other = f"{candidate.source.partition(':')[2]} {candidate.path}"
            kept[place] = kept[place]._replace(also_at=(*kept[place].also_at, other))
    return kept


def _spread(ordered: Sequence[Placed], most: int) -> list[Placed]:
    """Of one document `most` hits keep their place; further ones come after everything else, in their order."""
    seen: dict[DocumentId, int] = {}
    ahead: list[Placed] = []
    behind: list[Placed] = []
    for placed in ordered:
        document = placed.candidate.document
        seen[document] = count = seen.get(document, 0) + 1
        (ahead if count <= most else behind).append(placed)
    return [*ahead, *behind]

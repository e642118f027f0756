"""Files of one source into its batch: held to the rules for their front matter, cut, put, or skipped with a reason."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from msgspec.structs import replace

from index.model import Corpus, SourceId
from ingest.forge.documents import Rules, Skipped, document, id_of
from ingest.forge.validation import Validation, stop
from ingest.writing import Batch


@dataclass(slots=True)
class Filing:
    """`skipped` counts reasons. `identity` is what ids of documents begin with; None: the source."""

    batch: Batch
    source: SourceId
    corpus: Corpus
    scrub: Callable[[str], str]
    rules: Rules
    validation: Validation
    skipped: Counter[str]
    identity: SourceId | None = None
    _violations: list[str] = field(default_factory=list)

    async def put(self, path: str, revision: str, data: bytes, *, changed_ms: int | None = None) -> None:
        """One file as it is now; `changed_ms` is when it was changed last, where that is known."""
        self._violations += self.validation.violations(path, data, self.scrub)
        if self._violations:  # nothing of this will stay; the others are read to be told as well
            return
        made = document(
            source=self.source,
            corpus=self.corpus,
            path=path,
            revision=revision,
            data=data,
            scrub=self.scrub,
            rules=self.rules,
            identity=self.identity,
        )
        if isinstance(made, Skipped):
            self.skipped[made.reason] += 1
            await self.batch.remove([id_of(self.identity or self.source, path, self.scrub)])
        elif changed_ms is None:
            await self.batch.put(made)
        else:
            await self.batch.put(replace(made, first_ms=changed_ms, last_ms=changed_ms))

    def end(self, about: str) -> None:
        """Raises `ForgeError` where a file broke the rules, so that nothing is written; `about` names the source."""
        if self._violations:
            raise stop(about, self._violations)

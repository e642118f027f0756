"""Who is there: the listings of all configured owners of a forge, and what became of those that are missing there.

The listings say what is read. Pages are cut anew at each request, so that a repository can slip between two of them;
therefore one that is missing is looked up by number before it counts as gone.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from index.errors import CredentialError, SourcesError
from ingest.forge.forge_api import ForgeApi
from ingest.forge.listed import Listed
from ingest.forge.listing import Owner, Page, closed, is_open, look_up, read_listing
from ingest.forge.selection import Selection


@dataclass(slots=True)
class Seen:
    """What is to be read, what is left out and why, by number; `pages` to keep, by request.

    `faults` are owners whose listing could not be had: then nobody who is missing is gone.
    """

    repos: dict[str, Listed] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    odd: int = 0  # entries that could not be read
    pages: dict[str, str] = field(default_factory=dict)
    told_ms: int = 0  # when the forge began to tell, by its own clock
    faults: list[SourcesError] = field(default_factory=list)
    closed: set[Owner] = field(default_factory=set)  # whose listing nobody gets without a token


@dataclass(frozen=True, slots=True)
class Roster:
    """Numbers here have the forge's address before them, for another forge may be configured under the same name."""

    api: ForgeApi
    owners: tuple[Owner, ...]
    selection: Selection
    parallel: int

    async def listed(self, kept: Mapping[str, str]) -> Seen:
        """Ask all owners; `kept` are the pages of an earlier run. Raises when no listing could be had at all."""
        seen = Seen()
        for owner in self.owners:
            try:
                is_for_anybody = await is_open(self.api, owner)
                mark = self.selection.digest(self.api.base, self.api.is_anonymous, is_for_anybody)
                listing = await read_listing(
                    self.api, owner, self.selection, _under(mark, kept), is_open=is_for_anybody
                )
            except SourcesError as error:
                seen.faults.append(error)
                continue
            if not is_for_anybody:
                seen.closed.add(owner)
            seen.repos |= {self.number(one): repo for one, repo in listing.repos.items()}
            seen.left_out |= {self.number(one): reason for one, reason in listing.left_out.items()}
            seen.odd += listing.odd
            seen.told_ms = min(seen.told_ms or listing.told_ms, listing.told_ms)
            seen.pages |= {f"{mark} {asked}": page.text() for asked, page in listing.pages.items() if page.etag}
        if len(seen.faults) == len(self.owners):
            raise next((fault for fault in seen.faults if isinstance(fault, CredentialError)), seen.faults[0])
        for one in seen.left_out:
            seen.repos.pop(one, None)
        return seen

    async def missing(self, known: Iterable[str], seen: Seen) -> tuple[dict[str, str], list[str]]:
        """Of known numbers that are not to be read now: those that are gone, with the reason, and those of which
        nobody can tell. One that turns out to have slipped between two pages joins `seen.repos`."""
        gone: dict[str, str] = {}
        unsure: list[str] = []
        limit = asyncio.Semaphore(self.parallel)

        async def judge(number: str) -> None:
            if number in seen.left_out:
                gone[number] = f"left out: {seen.left_out[number]}"
            elif not number.startswith(self.number("")):
                gone[number] = "of another forge"
            elif not seen.faults:
                async with limit:
                    await ask(number)

        async def ask(number: str) -> None:
            if unsure:  # the forge does not answer; asking on for each would take hours
                unsure.append(number)
                return
            try:
                repo = await look_up(self.api, number.removeprefix(self.number("")))
            except SourcesError:
                unsure.append(number)
                return
            owner = next((one for one in self.owners if repo is not None and one.owns(repo.full_name)), None)
            if repo is not None and owner in seen.closed:
                repo = closed(repo)
            if repo is None:
                gone[number] = "not there any more, or not to be seen"
            elif owner is None:
                gone[number] = "belongs to somebody else now"
            elif reason := self.selection.reason_against(repo):
                gone[number] = f"left out: {reason}"
            else:
                seen.repos[number] = repo

        await asyncio.gather(*(judge(number) for number in known if number not in seen.repos))
        return gone, unsure

    def number(self, number: str) -> str:
        return f"{self.api.base}#{number}"


def _under(mark: str, kept: Mapping[str, str]) -> dict[str, Page]:
    """The pages that were read under the same circumstances, by request."""
    found = {}
    for request, text in kept.items():
        under, _, asked = request.partition(" ")
        if under == mark and (page := Page.parse(text)) is not None:
            found[asked] = page
    return found

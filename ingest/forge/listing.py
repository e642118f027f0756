"""The repositories of an organisation or a user, page after page until there is none left.

Forges cut a page below the limit that was asked for, filter it after cutting, and do not always say that there is
more: so the link to a next page, the total count and an empty page all have a say, and whoever is missing from a
listing is looked up by number before anything is concluded (`look_up`).
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final
from urllib.parse import quote, urlencode

from index.errors import ForgeError
from ingest.forge.forge_api import Answer, ForgeApi
from ingest.forge.listed import Flag, ForgeKind, Listed, Visibility, listed
from ingest.forge.selection import Selection

_MAX_PAGES: Final = 1000
_PAGE_SIZE: Final = 100


class OwnerKind(StrEnum):
    ORGANISATION = "organisation"
    USER = "user"


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose repositories are listed; at GitLab an organisation is a group, with the groups below it."""

    kind: OwnerKind
    name: str

    def owns(self, full_name: str) -> bool:
        return full_name.casefold().startswith(f"{self.name.casefold()}/")


@dataclass(frozen=True, slots=True)
class Page:
    """What a page came to. `left_out` has the number and the reason, never the name, of what is not to be read."""

    etag: str | None
    next_query: Mapping[str, str] | None
    total: int | None
    count: int
    repos: tuple[Listed, ...]
    left_out: Mapping[str, str]

    @property
    def ids(self) -> set[str]:
        return {repo.id for repo in self.repos} | set(self.left_out)

    @property
    def odd(self) -> int:
        """Entries that could not be read."""
        return self.count - len(self.repos) - len(self.left_out)

    def text(self) -> str:
        """For keeping, beside the request that it answers."""
        repos = [
            [one.id, one.full_name, one.clone_url, one.default_branch, one.visibility, sorted(one.flags), one.pushed_at]
            for one in self.repos
        ]
        next_query = None if self.next_query is None else dict(self.next_query)
        return json.dumps([self.etag, next_query, self.total, self.count, repos, dict(self.left_out)])

    @classmethod
    def parse(cls, text: str) -> "Page | None":
        """None for what another version may have kept: then the page is asked for as if it were new."""
        try:
            etag, next_query, total, count, repos, left_out = json.loads(text)
            made = tuple(
                Listed(one, name, url, branch, Visibility(visibility), frozenset(map(Flag, flags)), pushed_at)
                for one, name, url, branch, visibility, flags, pushed_at in repos
            )
        except (ValueError, TypeError):
            return None
        return cls(etag, next_query, total, count, made, left_out)


@dataclass(frozen=True, slots=True)
class Listing:
    """All of one owner, by number. `pages` are by request; `told_ms` is when the forge began to tell."""

    repos: Mapping[str, Listed]
    left_out: Mapping[str, str]
    odd: int
    pages: Mapping[str, Page]
    told_ms: int


async def is_open(api: ForgeApi, owner: Owner) -> bool:
    """Whether the owner's repositories are listed to anybody: if not, what is marked public there is not."""
    return await api.is_open(*_first_request(api.kind, owner))


async def read_listing(
    api: ForgeApi, owner: Owner, selection: Selection, kept: Mapping[str, Page], *, is_open: bool = True
) -> Listing:
    """Raises ForgeError or CredentialError when any page cannot be had: half a listing is none."""
    path, query = _first_request(api.kind, owner)
    pages: dict[str, Page] = {}
    ids: set[str] = set()
    told_ms = count = 0
    while True:
        request = f"{path}?{urlencode(sorted(query.items()))}"
        page, answer = await _page(api, path, query, selection, kept.get(request), is_open=is_open)
        if page is None:
            raise ForgeError(f"{api.about}: has no {owner.kind} {owner.name} that may be seen (check name and token)")
        told_ms = told_ms or answer.told_ms
        is_stuck = bool(page.ids) and page.ids <= ids  # it turns no pages, whatever is asked
        pages[request] = page
        ids |= page.ids
        count += page.count
        following = None if is_stuck else _following(api.kind, query, page, count)
        if following is None:
            break
        query = following
        if len(pages) >= _MAX_PAGES or f"{path}?{urlencode(sorted(query.items()))}" in pages:
            raise ForgeError(f"{api.about}: its listing does not end (look at it by hand)")
    repos = {repo.id: repo for page in pages.values() for repo in page.repos}
    left_out = {number: reason for page in pages.values() for number, reason in page.left_out.items()}
    for number in repos.keys() & left_out.keys():  # it changed between two pages: the careful reading counts
        del repos[number]
    return Listing(repos, left_out, sum(page.odd for page in pages.values()), pages, told_ms)


def closed(repo: Listed) -> Listed:
    """As it is where nobody may look in without an account."""
    return replace(repo, visibility=Visibility.INTERNAL) if repo.is_public else repo


async def look_up(api: ForgeApi, number: str) -> Listed | None:
    """One repository by its number; None when it is not there, or not to be seen. ForgeError: nobody knows."""
    what = "projects" if api.kind is ForgeKind.GITLAB else "repositories"
    answer = await api.get(f"/{what}/{quote(number, safe='')}", {})
    if answer.is_gone:
        return None
    found = listed(api.kind, answer.body, is_anonymous=api.is_anonymous)
    if found is None or found.id != number:
        raise ForgeError(f"{api.about}: says nothing useful about repository {number} (the next run asks again)")
    return found


async def _page(
    api: ForgeApi,
    path: str,
    query: Mapping[str, str],
    selection: Selection,
    kept: Page | None,
    *,
    is_open: bool,
) -> tuple[Page | None, Answer]:
    """The page; None when there is no such owner."""
    answer = await api.get(path, query, etag=kept.etag if kept else None)
    if answer.is_gone:
        return None, answer
    if answer.is_same:
        if kept is None:
            raise ForgeError(f"{api.about}: says that nothing changed without having been asked (look at it by hand)")
        return kept, answer
    if not isinstance(answer.body, list):
        raise ForgeError(f"{api.about}: answers something else than a list of repositories (check url and kind)")
    found = (listed(api.kind, raw, is_anonymous=api.is_anonymous) for raw in answer.body)
    seen = (one if is_open else closed(one) for one in found if one is not None)
    repos, left_out = _divided(seen, selection)
    return Page(answer.etag, answer.next_query, answer.total, len(answer.body), repos, left_out), answer


def _divided(found: Iterable[Listed], selection: Selection) -> tuple[tuple[Listed, ...], dict[str, str]]:
    repos, left_out = [], {}
    for one in found:
        reason = selection.reason_against(one)
        if reason is None:
            repos.append(one)
        else:
            left_out[one.id] = reason
    return tuple(repos), left_out


def _following(kind: ForgeKind, query: Mapping[str, str], page: Page, count: int) -> dict[str, str] | None:
    """The query of the next page, or None at the end. `count` are the entries so far."""
    if page.next_query:
        return {**query, **page.next_query}
    if not page.count:
        return None
    # GitHub is silent when all fits on one page; the others tell a total, and one that is stripped proves nothing.
    is_more = count < page.total if page.total is not None else kind is not ForgeKind.GITHUB
    number = query.get("page", "")
    return {**query, "page": str(int(number) + 1)} if is_more and number.isdigit() else None


def _first_request(kind: ForgeKind, owner: Owner) -> tuple[str, dict[str, str]]:
    """Sorted by age where that can be asked for: what is new comes last and moves nothing to another page."""
    name = quote(owner.name, safe="")
    is_user = owner.kind is OwnerKind.USER
    page = {"page": "1"}
    match kind:
        case ForgeKind.GITHUB:
            query = page | {"per_page": str(_PAGE_SIZE), "sort": "created", "direction": "asc"}
            return f"/{'users' if is_user else 'orgs'}/{name}/repos", query | {"type": "owner" if is_user else "all"}
        case ForgeKind.GITLAB:
            query = page | {"per_page": str(_PAGE_SIZE), "order_by": "id", "sort": "asc"}
            if is_user:
                return f"/users/{name}/projects", query
            return f"/groups/{name}/projects", query | {"include_subgroups": "true", "with_shared": "false"}
        case _:
            return f"/{'users' if is_user else 'orgs'}/{name}/repos", page | {"limit": str(_PAGE_SIZE)}

"""What is known of a forge's repositories is the whole listing, read politely, or an error that says why not."""

from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from index.errors import CredentialError, ForgeError
from ingest.forge.forge_api import ApiPatience, ForgeApi
from ingest.forge.listed import Flag, ForgeKind, Listed, Visibility, listed
from ingest.forge.listing import Listing, Owner, OwnerKind, Page, look_up, read_listing
from ingest.forge.selection import Selection
from tests.forge.forge_server import ForgeServer, make_forge

ORGANISATION = Owner(OwnerKind.ORGANISATION, "club")
EVERYTHING = Selection(visibilities=frozenset(Visibility), left_out=frozenset())
HASTY = ApiPatience(attempt_s=0.5, attempts=3, first_wait_s=0.01, longest_wait_s=2.0)
TOKEN = "not-" + "a-real-token"


@pytest.fixture
def forge(tmp_path: Path) -> Iterator[ForgeServer]:
    with make_forge(tmp_path / "forge") as server:
        yield server


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(verify=False) as opened:  # no certificates to load, since all is plain here
        yield opened


def api_of(forge: ForgeServer, client: httpx.AsyncClient, *, token: str = "", **changes: float) -> ForgeApi:
    return ForgeApi(
        client,
        ForgeKind(forge.kind),
        forge.origin,
        about="forge test",
        token=(lambda: token) if token else None,
        patience=replace(HASTY, **changes),  # type: ignore[arg-type]
        max_bytes=200_000,
    )


async def read(
    forge: ForgeServer, client: httpx.AsyncClient, *, selection: Selection = EVERYTHING, token: str = ""
) -> Listing:
    return await read_listing(api_of(forge, client, token=token), ORGANISATION, selection, {})


@pytest.mark.parametrize("kind", ["forgejo", "gitea", "github", "gitlab"])
@pytest.mark.parametrize("count", [0, 1, 49, 50, 51, 65, 101])
async def test_every_page_is_read_though_they_are_smaller_than_asked(
    forge: ForgeServer, client: httpx.AsyncClient, kind: str, count: int
) -> None:
    """go-gitea/gitea#28815: 65 repositories, a limit of 100, answered with 50."""
    forge.kind = kind
    forge.list_only("club", count)
    forge.list_only("others", 3)
    found = await read(forge, client)
    assert sorted(repo.full_name for repo in found.repos.values()) == [f"club/repo{n:04}" for n in range(count)]


@pytest.mark.parametrize(("has_link", "has_total"), [(False, True), (True, False), (False, False)])
async def test_neither_a_missing_link_nor_a_missing_total_loses_a_page(
    forge: ForgeServer, client: httpx.AsyncClient, has_link: bool, has_total: bool
) -> None:
    forge.has_link, forge.has_total = has_link, has_total
    forge.list_only("club", 120)
    assert len((await read(forge, client)).repos) == 120


async def test_a_total_that_counts_what_is_not_shown_ends_with_an_empty_page(
    forge: ForgeServer, client: httpx.AsyncClient
) -> None:
    forge.list_only("club", 3)
    api = api_of(forge, client)
    forge.api_headers = {}
    page = await api.get("/orgs/club/repos", {"page": "2", "limit": "50"})
    assert (page.body, page.total) == ([], 3)


async def test_a_server_that_gives_the_same_page_for_ever_is_asked_twice(
    forge: ForgeServer, client: httpx.AsyncClient
) -> None:
    forge.api_fault = "page"
    forge.list_only("club", 120)
    assert len((await read(forge, client)).repos) == 50
    assert len(forge.api_requests) == 2


async def test_an_unchanged_listing_is_answered_without_a_body(forge: ForgeServer, client: httpx.AsyncClient) -> None:
    forge.has_etags = True
    forge.list_only("club", 120)
    api = api_of(forge, client)
    first = await read_listing(api, ORGANISATION, EVERYTHING, {})
    kept = {request: Page.parse(page.text()) for request, page in first.pages.items()}
    assert all(page is not None for page in kept.values())
    second = await read_listing(api, ORGANISATION, EVERYTHING, {name: page for name, page in kept.items() if page})
    assert (second.repos, second.left_out) == (first.repos, first.left_out)
    assert forge.is_not_modified == 3
    forge.hosted[70].flags.add("archived")
    third = await read_listing(api, ORGANISATION, EVERYTHING, second.pages)
    assert forge.is_not_modified == 5
    assert third.repos["171"].flags == {Flag.ARCHIVED}


def test_a_kept_page_of_another_version_is_as_good_as_none() -> None:
    for text in ("", "{}", "[1]", "[null, null, null, 1, [[1]], {}]", '[null, null, null, 1, "x", {}]'):
        assert Page.parse(text) is None


@pytest.mark.parametrize("status", ["500", "502", "503", "429"])
async def test_a_fault_that_passes_costs_another_try(
    forge: ForgeServer, client: httpx.AsyncClient, status: str
) -> None:
    forge.list_only("club", 1)
    forge.api_fault, forge.api_faults_left = status, 2
    assert len((await read(forge, client)).repos) == 1
    assert len(forge.api_requests) == 3


@pytest.mark.parametrize(
    ("fault", "headers", "said"),
    [
        ("500", {}, "HTTP 500"),
        ("429", {}, "rate limit"),
        ("429", {"Retry-After": "3600"}, "asks to wait 3600 s"),
        ("429", {"Retry-After": "Fri, 31 Dec 2999 23:59:59 GMT"}, "asks to wait"),
        ("403", {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "9999999999"}, "rate limit is reached (HTTP 403)"),
        ("429", {"RateLimit-Remaining": "0", "RateLimit-Reset": "9999999999"}, "asks to wait"),
        ("401", {}, "wants a login"),
        ("403", {}, "wants a login"),
        ("404", {}, "has no organisation club"),
        ("418", {}, "is this the address and the kind"),
        ("cut", {}, "the answer broke off"),
        ("html", {}, "not in JSON"),
        ("hang", {}, "no answer within 0.2 s"),
    ],
)
async def test_every_fault_is_one_line_with_its_remedy(
    forge: ForgeServer, client: httpx.AsyncClient, fault: str, headers: dict[str, str], said: str
) -> None:
    forge.list_only("club", 1)
    forge.api_fault, forge.api_headers = fault, headers
    with pytest.raises(ForgeError) as caught:
        await read_listing(api_of(forge, client, attempt_s=0.2, attempts=2), ORGANISATION, EVERYTHING, {})
    message = str(caught.value)
    assert message.startswith("forge test: ")
    assert said in message
    assert message.endswith(")")
    assert "\n" not in message


async def test_a_pause_that_the_server_asks_for_is_kept(forge: ForgeServer, client: httpx.AsyncClient) -> None:
    forge.list_only("club", 1)
    forge.api_fault, forge.api_headers, forge.api_faults_left = "429", {"Retry-After": "7"}, 1
    pauses: list[float] = []

    async def sleep(pause_s: float) -> None:
        pauses.append(pause_s)

    api = ForgeApi(client, ForgeKind.FORGEJO, forge.origin, about="forge test", sleep=sleep)
    assert len((await read_listing(api, ORGANISATION, EVERYTHING, {})).repos) == 1
    assert pauses == [7.0]


async def test_half_a_listing_is_none(forge: ForgeServer, client: httpx.AsyncClient) -> None:
    forge.list_only("club", 120)
    forge.api_fault, forge.api_only_for = "500", "page=3"
    with pytest.raises(ForgeError, match="HTTP 500"):
        await read(forge, client)


async def test_an_answer_without_end_is_refused(forge: ForgeServer, client: httpx.AsyncClient) -> None:
    forge.most_per_page = 5000
    forge.list_only("club", 1000)
    api = api_of(forge, client)
    with pytest.raises(ForgeError, match="more than 200,000 bytes"):
        await api.get("/orgs/club/repos", {"limit": "5000"})


async def test_a_refused_token_is_a_fault_of_the_credential(forge: ForgeServer, client: httpx.AsyncClient) -> None:
    forge.list_only("club", 1)
    forge.token = "another"
    with pytest.raises(CredentialError, match="refuses the token"):
        await read(forge, client, token=TOKEN)


@pytest.mark.parametrize("token", ["two words", "żółw", "a\x00b", "x" * 5000])
async def test_a_token_that_cannot_be_one_is_not_sent(
    forge: ForgeServer, client: httpx.AsyncClient, token: str
) -> None:
    with pytest.raises(CredentialError) as caught:
        await read(forge, client, token=token)
    assert token not in str(caught.value)
    assert not forge.api_requests


async def test_no_token_travels_unencrypted_to_another_machine(client: httpx.AsyncClient) -> None:
    api = ForgeApi(client, ForgeKind.FORGEJO, "http://forge.invalid", about="forge test", token=lambda: TOKEN)
    with pytest.raises(CredentialError, match="unencrypted"):
        await api.get("/orgs/club/repos", {})


async def test_a_redirect_never_carries_the_token_to_another_server(
    forge: ForgeServer, client: httpx.AsyncClient, tmp_path: Path
) -> None:
    with make_forge(tmp_path / "other") as other:
        forge.api_fault, forge.redirect_to, forge.token = "redirect", other.origin, TOKEN
        with pytest.raises(ForgeError, match="redirects to another server"):
            await read(forge, client, token=TOKEN)
        assert other.api_requests == []


async def test_a_redirect_inside_the_server_is_followed_and_ends(forge: ForgeServer, client: httpx.AsyncClient) -> None:
    forge.list_only("club", 1)
    forge.api_fault, forge.redirect_to, forge.api_faults_left = "redirect", forge.origin, 2
    assert len((await read(forge, client)).repos) == 1
    forge.api_faults_left = 100
    with pytest.raises(ForgeError, match="in a circle"):
        await read(forge, client)


async def test_one_repository_is_looked_up_by_number(forge: ForgeServer, client: httpx.AsyncClient) -> None:
    forge.list_only("club", 2)
    api = api_of(forge, client)
    found = await look_up(api, "102")
    assert found is not None
    assert found.full_name == "club/repo0001"
    assert await look_up(api, "999") is None
    forge.api_fault = "html"
    with pytest.raises(ForgeError):
        await look_up(api, "102")


async def test_what_is_not_to_be_read_is_kept_without_its_name(forge: ForgeServer, client: httpx.AsyncClient) -> None:
    forge.token = TOKEN
    forge.list_only("club", 3)
    forge.hosted[1].visibility, forge.hosted[1].name = "private", "plans-of-the-board"
    found = await read(forge, client, selection=Selection(), token=TOKEN)
    assert found.left_out == {"102": "private"}
    assert all("plans" not in page.text() for page in found.pages.values())


GITEA = {"id": 7, "full_name": "club/docs", "clone_url": "https://forge.example/club/docs.git", "private": False}
GITLAB = {"id": 7, "path_with_namespace": "club/docs", "http_url_to_repo": "https://forge.example/club/docs.git"}


def read_entry(kind: ForgeKind, facts: Mapping[str, object], *, is_anonymous: bool = False) -> Listed | None:
    raw = GITLAB if kind is ForgeKind.GITLAB else GITEA
    return listed(kind, {**raw, **facts}, is_anonymous=is_anonymous)


@pytest.mark.parametrize(
    ("kind", "facts", "visibility"),
    [
        (ForgeKind.FORGEJO, {}, "public"),
        (ForgeKind.FORGEJO, {"private": True}, "private"),
        (ForgeKind.FORGEJO, {"internal": True}, "internal"),
        (ForgeKind.FORGEJO, {"owner": {"visibility": "limited"}}, "internal"),
        (ForgeKind.FORGEJO, {"owner": {"visibility": "public"}}, "public"),
        (ForgeKind.FORGEJO, {"private": "no"}, "private"),
        (ForgeKind.FORGEJO, {"private": None}, "private"),
        (ForgeKind.GITHUB, {}, "public"),
        (ForgeKind.GITHUB, {"visibility": "internal"}, "internal"),
        (ForgeKind.GITHUB, {"visibility": "public", "private": True}, "private"),
        (ForgeKind.GITHUB, {"visibility": "secret", "private": None}, "private"),
        (ForgeKind.GITLAB, {"visibility": "public"}, "public"),
        (ForgeKind.GITLAB, {"visibility": "internal"}, "internal"),
        (ForgeKind.GITLAB, {"visibility": "public", "repository_access_level": "private"}, "private"),
        (ForgeKind.GITLAB, {"visibility": 1}, "private"),
        (ForgeKind.GITLAB, {}, "private"),
    ],
)
def test_only_what_the_forge_calls_public_is_public(kind: ForgeKind, facts: dict[str, object], visibility: str) -> None:
    found = read_entry(kind, facts)
    assert found is not None
    assert found.visibility == visibility


def test_what_a_forge_shows_to_anybody_is_public_when_it_says_nothing_else() -> None:
    """GitLab leaves visibility out of answers to those who are not logged in."""
    found = read_entry(ForgeKind.GITLAB, {}, is_anonymous=True)
    assert found is not None
    assert found.is_public
    found = read_entry(ForgeKind.GITLAB, {"repository_access_level": "private"}, is_anonymous=True)
    assert found is not None
    assert not found.is_public


@pytest.mark.parametrize(
    "changes",
    [
        {"id": None}, {"id": True}, {"id": -1}, {"id": "7"}, {"id": 1 << 70},
        {"full_name": "docs"}, {"full_name": "../docs"}, {"full_name": "club/.."}, {"full_name": "club/a b"},
        {"full_name": "club/-x"}, {"full_name": "club/" + "x" * 2000}, {"full_name": None}, {"full_name": ["club/x"]},
        {"clone_url": "file:///etc"}, {"clone_url": "ext::sh -c id"}, {"clone_url": "--upload-pack=id"},
        {"clone_url": "https://me:secret@forge.example/x"}, {"clone_url": "ssh://forge.example/x"},
        {"clone_url": "https://forge.example/x?y=z"}, {"clone_url": "https:///x"}, {"clone_url": "https://[x"},
        {"clone_url": "https://forge.example/x\ny"}, {"clone_url": 5},
    ],
)  # fmt: skip
def test_an_entry_that_cannot_be_used_is_none(changes: dict[str, object]) -> None:
    assert read_entry(ForgeKind.FORGEJO, changes) is None


@pytest.mark.parametrize("raw", [None, 1, "x", [], {}, {"id": 7}])
@pytest.mark.parametrize("kind", ForgeKind)
def test_what_is_no_entry_is_none(kind: ForgeKind, raw: object) -> None:
    assert listed(kind, raw, is_anonymous=False) is None


def test_the_time_of_a_push_is_taken_only_where_each_push_sets_it() -> None:
    times = {"updated_at": "2026-01-01T00:00:00Z", "pushed_at": "2026-01-02T00:00:00Z", "last_activity_at": "2026"}
    told = {kind: read_entry(kind, times) for kind in ForgeKind}
    assert {kind: found.pushed_at for kind, found in told.items() if found} == {
        ForgeKind.FORGEJO: "2026-01-01T00:00:00Z",
        ForgeKind.GITEA: "2026-01-01T00:00:00Z",
        ForgeKind.GITHUB: "2026-01-02T00:00:00Z",
        ForgeKind.GITLAB: None,
    }
    mirror = read_entry(ForgeKind.GITEA, {"mirror": True, **times})
    assert mirror is not None
    assert mirror.pushed_at is None


@pytest.mark.parametrize(
    ("selection", "facts", "reason"),
    [
        (Selection(), {}, None),
        (Selection(), {"fork": True}, "fork"),
        (Selection(), {"archived": True}, None),
        (Selection(left_out=frozenset(Flag)), {"archived": True, "mirror": True}, "archived"),
        (Selection(), {"private": True}, "private"),
        (Selection(include=("docs",)), {}, None),
        (Selection(include=("DOC*",)), {}, None),
        (Selection(include=("club",)), {}, "not included"),
        (Selection(include=("club/*",)), {}, None),
        (Selection(include=("other/*",)), {}, "not included"),
        (Selection(exclude=("docs",), include=("docs",)), {}, "excluded"),
        (Selection(exclude=("club/**",)), {}, "excluded"),
    ],
)
def test_what_is_read_is_what_the_selection_says(
    selection: Selection, facts: dict[str, object], reason: str | None
) -> None:
    found = read_entry(ForgeKind.FORGEJO, facts)
    assert found is not None
    assert selection.reason_against(found) == reason

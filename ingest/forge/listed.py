"""What a forge says about one repository, as one record, whatever forge it is.

Pure. Tolerant: an entry that lacks what is needed is None, a field of an unknown form counts as not said. What
decides who may read a repository is read the other way round: unless the forge says public, it is not.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final
from urllib.parse import urlsplit


class ForgeKind(StrEnum):
    FORGEJO = "forgejo"
    GITEA = "gitea"
    GITHUB = "github"
    GITLAB = "gitlab"


class Visibility(StrEnum):
    PUBLIC = "public"
    INTERNAL = "internal"  # to everybody who has an account there, or to a limited circle
    PRIVATE = "private"


class Flag(StrEnum):
    ARCHIVED = "archived"
    EMPTY = "empty"
    FORK = "fork"
    MIRROR = "mirror"
    TEMPLATE = "template"


@dataclass(frozen=True, slots=True)
class Listed:
    """`id` is the forge's own number, which outlives renames and transfers. `full_name` is `owner/name`, with more
    steps where groups nest. `pushed_at` differs after each push; None where the forge does not promise that."""

    id: str
    full_name: str
    clone_url: str
    default_branch: str | None
    visibility: Visibility
    flags: frozenset[Flag] = frozenset()
    pushed_at: str | None = None

    @property
    def is_public(self) -> bool:
        return self.visibility is Visibility.PUBLIC


_STEP: Final = r"[A-Za-z0-9_.][A-Za-z0-9_.+-]{0,254}"
_FULL_NAME: Final = re.compile(rf"{_STEP}(?:/{_STEP})+", re.ASCII)
_MAX_TEXT: Final = 1000


def listed(kind: ForgeKind, raw: object, *, is_anonymous: bool) -> Listed | None:
    """One entry of a listing, or None when it cannot be one.

    `is_anonymous`: asked without a token, so that a forge that says nothing about visibility showed it to anybody.
    """
    if not isinstance(raw, Mapping):
        return None
    unsaid = Visibility.PUBLIC if is_anonymous else Visibility.PRIVATE
    match kind:
        case ForgeKind.GITHUB:
            made = _github(raw, unsaid)
        case ForgeKind.GITLAB:
            made = _gitlab(raw, unsaid)
        case _:
            made = _gitea(raw, unsaid)
    is_whole = made.id and _is_name(made.full_name) and _is_clonable(made.clone_url)
    return made if is_whole else None


def time_ms(text: str | None) -> int | None:
    """Of a time as forges write it; None when it is none."""
    try:
        told = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return int((told if told.tzinfo else told.replace(tzinfo=UTC)).timestamp() * 1000)


def _gitea(raw: Mapping[object, object], unsaid: Visibility) -> Listed:
    """Each push sets `updated_at` to the present, but a mirror's is the date of its newest commit."""
    owner = raw.get("owner")
    owner_visibility = _text(owner.get("visibility")) if isinstance(owner, Mapping) else ""
    private = raw.get("private")
    visibility = unsaid if not isinstance(private, bool) else Visibility.PRIVATE if private else Visibility.PUBLIC
    if visibility is Visibility.PUBLIC and (raw.get("internal") is True or owner_visibility not in ("", "public")):
        visibility = Visibility.INTERNAL
    flags = _flags(raw, {"archived": Flag.ARCHIVED, "empty": Flag.EMPTY, "fork": Flag.FORK, "mirror": Flag.MIRROR})
    flags |= _flags(raw, {"template": Flag.TEMPLATE})
    pushed_at = "" if Flag.MIRROR in flags else _text(raw.get("updated_at"))
    return _made(raw, "full_name", "clone_url", visibility, flags, pushed_at)


def _github(raw: Mapping[object, object], unsaid: Visibility) -> Listed:
    private = raw.get("private")
    visibility = _said(raw) or (
        unsaid if not isinstance(private, bool) else Visibility.PRIVATE if private else Visibility.PUBLIC
    )
    if private is True and visibility is Visibility.PUBLIC:
        visibility = Visibility.PRIVATE
    flags = _flags(raw, {"archived": Flag.ARCHIVED, "fork": Flag.FORK, "is_template": Flag.TEMPLATE})
    if _text(raw.get("mirror_url")):
        flags |= {Flag.MIRROR}
    return _made(raw, "full_name", "clone_url", visibility, flags, _text(raw.get("pushed_at")))


def _gitlab(raw: Mapping[object, object], unsaid: Visibility) -> Listed:
    """`last_activity_at` moves once an hour at most and can miss a push: git itself is asked each time."""
    visibility = _said(raw) or unsaid
    access = _text(raw.get("repository_access_level"))
    if access == "private":  # an open project may keep its repository to its members
        visibility = Visibility.PRIVATE
    flags = _flags(raw, {"archived": Flag.ARCHIVED, "empty_repo": Flag.EMPTY, "mirror": Flag.MIRROR})
    if access == "disabled":
        flags |= {Flag.EMPTY}
    if isinstance(raw.get("forked_from_project"), Mapping):
        flags |= {Flag.FORK}
    return _made(raw, "path_with_namespace", "http_url_to_repo", visibility, flags)


def _made(
    raw: Mapping[object, object],
    full_name: str,
    clone_url: str,
    visibility: Visibility,
    flags: frozenset[Flag],
    pushed_at: str = "",
) -> Listed:
    """`full_name` and `clone_url` are the fields that have them."""
    return Listed(
        id=_number(raw.get("id")),
        full_name=_text(raw.get(full_name)),
        clone_url=_text(raw.get(clone_url)),
        default_branch=_text(raw.get("default_branch")) or None,
        visibility=visibility,
        flags=flags,
        pushed_at=pushed_at or None,
    )


def _said(raw: Mapping[object, object]) -> Visibility | None:
    try:
        return Visibility(_text(raw.get("visibility")))
    except ValueError:
        return None


def _flags(raw: Mapping[object, object], names: Mapping[str, Flag]) -> frozenset[Flag]:
    return frozenset(flag for name, flag in names.items() if raw.get(name) is True)


def _number(value: object) -> str:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 63 else ""


def _text(value: object) -> str:
    return value if isinstance(value, str) and len(value) <= _MAX_TEXT else ""


def _is_name(text: str) -> bool:
    return _FULL_NAME.fullmatch(text) is not None and not {".", ".."} & set(text.split("/"))


def _is_clonable(url: str) -> bool:
    """Over http alone, and without a login in it: what a server names is never a command, a path or an option."""
    try:
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return False
    return (
        parts.scheme in ("https", "http")
        and bool(host)
        and "@" not in parts.netloc
        and not parts.query
        and not parts.fragment
        and url.isascii()
        and url.isprintable()
        and not {" ", "\\", '"', "'", "<", ">"} & set(url)
    )

"""Secrets: read only from files of the credential directory, held so that they do not slip out.

The directory is `$CREDENTIALS_DIRECTORY`, which systemd sets for `LoadCredential=`, or the one given with
`--credentials-dir`. Nothing here puts a secret, or a piece of one, into a message.
"""

import os
import re
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NoReturn

from msgspec import Struct

from index.errors import CredentialError

_MASK: Final = "‹secret›"
_MAX_BYTES: Final = 64 << 10
_NAME: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}"


class Secret:
    """A secret whose `str`, `repr` and format are a mask, and which cannot be pickled.

    Two are compared in a time that does not depend on their content. `reveal` is the only way to the text: call it
    where the secret is handed to a library, nowhere earlier.
    """

    __slots__ = ("_value",)
    __hash__ = None  # type: ignore[assignment] # a hash would be a fingerprint of the secret

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        return self._value

    def __repr__(self) -> str:
        return _MASK

    def __str__(self) -> str:
        return _MASK

    def __format__(self, spec: str) -> str:
        return format(_MASK, spec)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        import hmac  # loads OpenSSL, which a search does without

        return hmac.compare_digest(self._value.encode(), other._value.encode())

    def __copy__(self) -> "Secret":
        return self

    def __deepcopy__(self, _memo: object) -> "Secret":
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Secret cannot be pickled")


class Credential(Struct, frozen=True):
    """One that can be used; `credentials.example` lists the same. Names that the configuration gives are examples."""

    name: str
    purpose: str


KNOWN: Final = (
    Credential("embed-api-key", "key of the embedding endpoint, which `embed.api_key_credential` names"),
    Credential("ask-api-key", "key of the endpoint that writes answers, which `ask.api_key_credential` names"),
    Credential("audit-alert-url", "where alerts go, as Apprise takes it, which `audit.alert_credential` names"),
    Credential("forge-community", "token for a forge, which `forge.credential` names"),
    Credential("git-handbook", "user:token of a private repository over https, which `repo.credential` names"),
    Credential("matrix-bot-token", "access token of the bot's account in [bot]"),
    Credential("matrix-reader-token", "access token of the reader account in [chat]"),
    Credential("qdrant-api-key", "key of the cluster, which `index.qdrant.api_key_credential` names"),
    Credential("webhook-secret", "what forges sign their deliveries with, for examples/webhook.py"),
)


class Credentials(Struct, frozen=True):
    """The credential directory; None when there is none, which is an error only when a secret is asked for."""

    directory: Path | None

    @classmethod
    def found(cls, given: Path | None, environment: Mapping[str, str] = os.environ) -> "Credentials":
        named = environment.get("CREDENTIALS_DIRECTORY")
        return cls(given if given is not None else Path(named) if named else None)

    def read(self, name: str) -> Secret:
        """The secret of that name, without the line end that editors add. CredentialError names file and remedy."""
        if not re.fullmatch(_NAME, name):
            raise CredentialError(f"credential {name[:40]!r}: is not a file name (use letters, digits, dots, dashes)")
        if self.directory is None:
            raise CredentialError(
                f"credential {name}: there is no credential directory (start through systemd with LoadCredential=, "
                "or name a folder with --credentials-dir)"
            )
        path = self.directory / name
        return Secret(_checked(path, _content(path, self.directory)))


def _content(path: Path, directory: Path) -> bytes:
    try:
        if stat.S_IMODE(directory.stat().st_mode) & stat.S_IWOTH:
            raise CredentialError(f"{directory}: everyone may write there (chmod o-w {directory})")
        real = path.resolve(strict=True)
        if not real.is_relative_to(directory.resolve()):
            raise CredentialError(f"{path}: is a link out of the directory (copy the file there)")
        # The resolved path is opened, and what was opened is what is examined: nobody can swap it in between.
        descriptor = os.open(real, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise CredentialError(f"{path}: is not a file (write the secret into a plain file)")
            # Group bits are allowed: systemd hands credentials over with an ACL, whose mask shows up there.
            if stat.S_IMODE(status.st_mode) & stat.S_IRWXO:
                raise CredentialError(f"{path}: is open to everyone on this machine (chmod o= {path}, and renew it)")
            return os.read(descriptor, _MAX_BYTES + 1)
        finally:
            os.close(descriptor)
    except FileNotFoundError as error:
        raise CredentialError(f"{path}: is missing (credentials.example says how to make it)") from error
    except (OSError, RuntimeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "links go in a circle"
        raise CredentialError(f"{path}: cannot be read: {reason} (check its owner and permissions)") from error


def _checked(path: Path, data: bytes) -> str:
    if len(data) > _MAX_BYTES:
        raise CredentialError(f"{path}: is larger than 64 KiB (is it the right file?)")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        # Not chained: the original holds the bytes.
        raise CredentialError(f"{path}: is not UTF-8 (write the secret as plain text)") from None
    text = text.removesuffix("\n").removesuffix("\r")
    if not text.strip():
        raise CredentialError(f"{path}: is empty (write the secret into it)")
    if text != text.strip() or not text.isprintable():
        raise CredentialError(f"{path}: has blanks around it, several lines or control characters (write one line)")
    return text

"""What can go wrong with a homeserver, told apart where a caller does different things.

A dead token is `index.errors.CredentialError`. These three are `MatrixError`s: whoever cannot tell them apart may
treat them alike.
"""

from index.errors import MatrixError


class RefusedError(MatrixError):
    """The homeserver understood the request and said no. Asking again changes nothing."""

    def __init__(self, message: str, *, status: int, errcode: str) -> None:
        super().__init__(message)
        self.status = status
        self.errcode = errcode  # `M_FORBIDDEN`, ...; empty when the answer did not come from a homeserver


class UnavailableError(MatrixError):
    """No usable answer, however often it was asked for. Later, or for another part of the room, there may be one."""


class BudgetSpentError(MatrixError):
    """The time that this session had is over. What was read is good, the rest waits for the next run."""


class ForbiddenCallError(RuntimeError):
    """Our own code asked for something that its mode does not allow: a bug, and never sent."""

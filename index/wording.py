"""How counts read in messages for people, wherever they are written."""


def counted(count: int, noun: str, plural: str = "") -> str:
    """`1 room`, `2,000 rooms`; `plural` where an "s" at the end does not make it."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"


def waiting_for_vectors(passages: int) -> str:
    """What both engines say of an audience."""
    return f"{counted(passages, 'passage waits', 'passages wait')} for a vector, found by words alone until then"

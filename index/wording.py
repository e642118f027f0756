"""How counts read in messages for people, wherever they are written."""


def counted(count: int, noun: str, plural: str = "") -> str:
    """`1 room`, `2,000 rooms`; `plural` where an "s" at the end does not make it."""
    return f"{count:,} {noun if count == 1 else plural or f'{noun}s'}"

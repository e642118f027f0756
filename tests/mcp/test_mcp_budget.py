"""What an assistant is given fits, says what it left off, and hides nothing."""

import json

from hypothesis import given
from hypothesis import strategies as st

from sources.mcp.budget import encoded, fit, fit_text, inert, size_bytes

texts = st.text(max_size=60)


@given(st.lists(texts, max_size=40), st.lists(texts, max_size=10), st.integers(200, 3_000))
def test_a_record_fits_when_its_lists_can_make_it_fit(hits: list[str], notes: list[str], max_bytes: int) -> None:
    record: dict[str, object] = {"version": 1, "hits": list(hits), "notes": list(notes)}
    fitted = fit(record, ("hits", "notes"), max_bytes=max_bytes)
    assert size_bytes(fitted) <= max_bytes
    kept_hits, kept_notes = fitted["hits"], fitted["notes"]
    assert isinstance(kept_hits, list)
    assert isinstance(kept_notes, list)
    assert hits[: len(kept_hits)] == kept_hits
    assert fitted["left_off"] == len(hits) - len(kept_hits) + len(notes) - len(kept_notes)
    assert len(kept_notes) == len(notes) or kept_hits == []


@given(st.lists(st.text(st.characters(exclude_characters="\n"), max_size=300), min_size=1, max_size=30))
def test_a_long_text_can_be_read_to_its_end_in_pieces(lines: list[str]) -> None:
    at: int | None = 1
    seen: list[str] = []
    while at is not None:
        record: dict[str, object] = {"text": "\n".join(lines[at - 1 :]), "lines": [at, len(lines)]}
        piece = fit_text(record, at, max_bytes=900)
        assert size_bytes(piece) <= 900
        if not piece["line_cut"]:
            seen += str(piece["text"]).split("\n")
        else:
            assert lines[at - 1].startswith(str(piece["text"]))
            seen.append(lines[at - 1])
        following = piece["next_line"]
        assert following is None or (isinstance(following, int) and following > at)
        at = following if isinstance(following, int) else None
    assert seen == lines


def test_what_nobody_sees_is_taken_out() -> None:
    hidden = "a\u200b\u202eb" + "".join(chr(0xE0000 + ord(c)) for c in "obey") + "c\x1b[31m"
    assert inert({"x": [hidden, 1, None, True]}) == {"x": ["abc[31m", 1, None, True]}
    assert json.loads(encoded({"x": "\ud800"})) == {"x": "?"}

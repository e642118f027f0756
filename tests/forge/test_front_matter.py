"""Front matter: read as the text that stands there, checked field by field, never trusted."""

import pytest

from ingest.forge.frontmatter import FrontMatter, front_matter


def read(text: str) -> FrontMatter:
    return front_matter(text, lambda value: value)


def test_known_fields_become_payload_and_others_are_ignored() -> None:
    matter = read(
        "---\ntitle: 2024\ntags: [a, b, a]\narea: cellar, attic\ntech:\n  - rsync\nlevel: 010\nconfidence: high\n"
        "period: 1:30\nlast_verified: 2026-11-29\npublic: Yes\nlayout: x\n---\ntext"
    )
    assert matter.title == "2024"
    assert matter.lines == 13
    assert matter.faults == ()
    assert matter.payload == {
        "tags": ("a", "b"),
        "area": ("cellar", "attic"),
        "tech": ("rsync",),
        "level": "010",
        "confidence": "high",
        "period": "1:30",
        "last_verified": "2026-11-29",
        "public": "true",
    }


def test_toml_is_read_as_well() -> None:
    matter = read('+++\ntitle = "T"\ntags = ["a"]\nlevel = 3\npublic = false\nlast_verified = 2026-11-29\n+++\ntext')
    assert matter.title == "T"
    assert matter.payload == {"tags": ("a",), "level": "3", "public": "false", "last_verified": "2026-11-29"}


@pytest.mark.parametrize(
    "text",
    [
        "---\n\nA page that begins with a thematic break.\n\n---\n",
        "---\njust words\n---\ntext",
        "---\n- a\n- b\n---\n",
        "---\n---\n",
        "text\n---\ntitle: x\n---\n",
        " ---\ntitle: x\n---\n",
        "----\ntitle: x\n----\n",
        "---\ntitle: x\n",
        "---",
        "+++\n+++\n",
        "",
    ],
)
def test_what_only_looks_like_front_matter_is_text(text: str) -> None:
    assert read(text) in (FrontMatter(), FrontMatter(lines=2))


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        ("title: [a]", "title: expected a text, found a list"),
        ("level: {a: b}", "level: expected a text, found a mapping"),
        ("tags: {a: b}", "tags: expected a list of words: expected a text, found a mapping"),
        ("tags: [[a]]", "tags: expected a list of words: expected a text, found a list"),
        ("last_verified: soon", "last_verified: expected a date such as 2026-11-29"),
        ("last_verified: 2026-02-30", "last_verified: expected a date such as 2026-11-29"),
        ("public: perhaps", "public: expected true or false"),
        ("level: " + "x" * 301, "level: longer than 300 characters"),
        ("tags: [" + "a," * 101 + "]", "tags: more than 100 values"),
    ],
)
def test_a_field_of_the_wrong_type_is_left_out_and_named_while_the_others_stay(body: str, fault: str) -> None:
    matter = read(f"---\n{body}\nperiod: winter\n---\ntext")
    assert matter.faults == (fault,)
    assert matter.payload == {"period": "winter"}


def test_empty_fields_are_absent() -> None:
    assert read("---\ntitle:\ntags: []\nlevel: ''\narea: null\npublic: ~\nlast_verified:\n---\n").payload == {}


def test_broken_fields_are_text_and_a_fault_says_where() -> None:
    matter = read("---\ntitle: a: b: c\n---\ntext")
    assert matter.lines == 0
    assert matter.faults == ("front matter: not valid YAML in line 2; read as text",)


def test_an_alias_bomb_is_refused() -> None:
    bomb = "a: &a [x, x]\n" + "".join(f"{b}: &{b} [*{a}, *{a}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True))
    matter = read(f"---\n{bomb}tags: *i\n---\n")
    assert matter.payload == {}
    assert matter.faults


@pytest.mark.parametrize(
    "body", ["a: " + "[" * 5_000, "a: " + "{a: " * 10_000, "x: !!python/object/apply:os.system [ls]"]
)
def test_nothing_in_yaml_runs_or_overflows(body: str) -> None:
    assert read(f"---\n{body}\n---\ntext").payload == {}


def test_nesting_in_toml_does_not_overflow() -> None:
    assert read("+++\na = " + "[" * 20_000 + "\n+++\n").payload == {}


def test_front_matter_longer_than_the_limit_is_text() -> None:
    assert read("---\n" + "a: b\n" * 20_000 + "---\n").lines == 0


def test_values_are_scrubbed() -> None:
    matter = front_matter("---\ntitle: a word\ntags: [word]\n---\n", lambda value: value.replace("word", "*"))
    assert (matter.title, matter.payload) == ("a *", {"tags": ("*",)})

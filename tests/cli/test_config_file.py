"""What `sources.toml` may say, and how it is told what is wrong with it."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.errors import ConfigError
from sources.config.load import find, load, parse
from sources.config.model import Config
from sources.config.units import MINUTE_MS, format_duration, format_size, parse_duration, parse_size

BASE = Path("/srv/community")


def read(text: str) -> Config:
    return parse(text, name="sources.toml", base=BASE)


def refusal(text: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        read(text)
    return str(caught.value).split("\n")


def test_an_empty_file_is_a_configuration_without_sources() -> None:
    assert read("") == Config()


def test_values_arrive_with_their_units_resolved() -> None:
    config = read(
        """
        state_dir = "state"
        [refresh]
        source_timeout = "90s"
        [[repo]]
        name = "docs"
        url = "https://git.example.org/docs.git"
        max_file = "2 kB"
        validate = { required = ["title"], allowed = { confidence = ["high", "low"] } }
        [[notes]]
        name = "wiki"
        root = "/srv/wiki"
        paths = ["."]
        [chat]
        homeserver = "https://matrix.example.org/"
        user = "@reader:example.org"
        exclude = ["!v12hashwithoutserver", "!old:example.org", "#private:example.org"]
        grace = "0s"
        overrides = { "!v12hashwithoutserver" = "not-dm" }
        """
    )
    assert config.state_dir == BASE / "state"
    assert config.refresh.source_timeout_ms == 90_000
    assert config.repo[0].max_file_bytes == 2_000
    assert config.repo[0].validate.allowed == {"confidence": ("high", "low")}
    assert config.notes[0].root == Path("/srv/wiki")
    assert config.chat is not None
    assert config.chat.homeserver == "https://matrix.example.org"
    assert config.chat.grace_ms == 0
    assert config.chat.overrides == {"!v12hashwithoutserver": "not-dm"}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("state_dri = 'x'", "sources.toml: state_dri: is not a known key (did you mean state_dir?)"),
        ("refresh = 5", "sources.toml: refresh: expected a table, found 5 (write it as [refresh])"),
        ("[repo]\nname = 'a'", "sources.toml: repo: expected tables, found a table (write each as [[repo]])"),
        (
            "[refresh]\nsource_timeout = 10",
            "sources.toml: refresh.source_timeout: the number 10 has no unit "
            '(write it as "10s", "10m", "10h" or "10d")',
        ),
        (
            "[refresh]\nsource_timeout = 'ten'",
            "sources.toml: refresh.source_timeout: a duration is a whole number and a unit, found 'ten' "
            '(write it like "30s", "10m", "24h" or "7d")',
        ),
        (
            "[refresh]\nparallel = '4'",
            "sources.toml: refresh.parallel: expected a whole number, found '4' (write one from 1 to 64, no quotes)",
        ),
        (
            "[refresh]\nparallel = true",
            "sources.toml: refresh.parallel: expected a whole number, found true (write one from 1 to 64, no quotes)",
        ),
        (
            "[index]\nengine = 'sqlit'",
            'sources.toml: index.engine: expected one of "sqlite", "qdrant", found \'sqlit\' (did you mean "sqlite"?)',
        ),
        (
            "[index]\nlanguages = 'en'",
            "sources.toml: index.languages: expected a list, each a text in quotes, found 'en' "
            '(write it in brackets, like ["one", "two"])',
        ),
        (
            "[index]\nlanguages = ['en', 'xx']",
            "sources.toml: index.languages[2]: there are no rules for 'xx' (known: cs, da, de, en, es, fi, fr, hu, it, "
            "nl, no, pl, pt, ro, ru, sk, sv)",
        ),
        (
            "[[repo]]\nname = 'a'\nurl = 'x'\nbranch = 3",
            "sources.toml: repo[1].branch: expected a text in quotes, found 3 (write it in quotes)",
        ),
        (
            "[[repo]]\nname = 'a'",
            "sources.toml: repo[1].url: is missing (add it: Where it is)",
        ),
        (
            "[[repo]]\nname = 'a'\nurl = 'x'\n[[repo]]\nname = 'A'\nurl = 'y'",
            "sources.toml: repo[2].name: 'A' is taken by repo[1] (choose another)",
        ),
        (
            "[[repo]]\nname = 'a'\nurl = 'x'\nexclude = ['ok', '../up']",
            "sources.toml: repo[1].exclude[2]: '../up' leaves its source "
            "(write it relative to the source, with / between folders)",
        ),
        (
            "[chat]\nhomeserver = 'https://x.org'\nuser = '@a:x.org'\noverrides = { '!r:x.org' = 'not-dn' }",
            'sources.toml: chat.overrides.\'!r:x.org\': expected one of "not-dm", "not-bridged", "was-bridged", '
            "found 'not-dn' (did you mean \"not-dm\"?)",
        ),
        (
            "[embed]\nkind = 'http'\nurl = 'http://localhost:1'\nmodel = 'm'",
            'sources.toml: embed.dimension: is missing, and kind = "http" needs it (add it, or change kind)',
        ),
        (
            "[embed]\nurl = 'http://localhost:1'",
            'sources.toml: embed.url: belongs to kind = "http" (remove it, or write kind = "http" instead of "local")',
        ),
        (
            "[search]\nlimit = 50\ncandidates = 20",
            "sources.toml: search.candidates: is less than limit (50) (raise it)",
        ),
        (
            "[[notes]]\nname = 'n'\nroot = '/'\npaths = ['.']",
            "sources.toml: notes[1].root: is the whole file system (name the folder that holds the notes)",
        ),
    ],
)
def test_a_fault_names_file_key_problem_and_remedy(text: str, line: str) -> None:
    assert refusal(text) == [line]


def test_all_faults_are_told_at_once() -> None:
    lines = refusal("stat = 1\n[log]\nlevel = 'loud'\n[[repo]]\nname = '/'\nurl = 'x'\n[embed]\ndimension = 1")
    assert [line.split(": ")[1] for line in lines] == ["stat", "embed.dimension", "log.level", "repo[1].name"]


@pytest.mark.parametrize(
    "url",
    ["https://git.example.org/a.git", "ssh://git@example.org/a", "git@example.org:a/b.git", "file:///srv/a", "../a"],
)
def test_any_address_that_git_can_clone_is_accepted(url: str) -> None:
    assert read(f"[[repo]]\nname = 'a'\nurl = '{url}'").repo[0].url.endswith(url.lstrip("."))


@pytest.mark.parametrize(
    "url",
    ["--upload-pack=touch", "ext::sh -c true", "ftp://example.org/a", "https://", "https://[", "a\\u0000b", ""],
)
def test_an_address_that_could_run_something_or_nothing_is_refused(url: str) -> None:
    (line,) = refusal(f'[[repo]]\nname = "a"\nurl = "{url}"')
    assert line.startswith("sources.toml: repo[1].url: ")


@pytest.mark.parametrize("scheme", ["https", "ssh"])
def test_a_credential_in_a_url_is_refused_and_not_repeated(scheme: str) -> None:
    word = "".join(["hunter", "2", "zebra"])
    (line,) = refusal(f"[[repo]]\nname = 'a'\nurl = '{scheme}://me:{word}@example.org/a'")
    assert "credentials.example" in line
    assert word not in line


def test_a_secret_that_was_written_as_a_key_is_not_repeated() -> None:
    word = "".join(["hunter", "2", "zebra"])
    (line,) = refusal(f"[embed]\napi_key = '{word}'")
    assert "credentials.example" in line
    assert word not in line


def test_a_key_of_any_length_makes_a_readable_line() -> None:
    (line,) = refusal(f"{'k' * 9000} = 1")
    assert len(line) < 300


def test_what_is_not_toml_is_one_line_with_its_place() -> None:
    (line,) = refusal("state_dir = \n")
    assert line.startswith("sources.toml: is not TOML: ")
    assert "line 1" in line


def test_a_file_that_is_not_utf8_is_named_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "sources.toml"
    file.write_bytes(b"# fine\nstate_dir = '\xff'\n")
    with pytest.raises(ConfigError, match=r"line 2: is not UTF-8"):
        load(file)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.toml: cannot be read: No such file"):
        load(tmp_path / "nowhere.toml")


def test_the_file_is_the_given_one_then_the_named_one_then_a_usual_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sources.toml").touch()
    assert find(Path("a.toml"), {"SOURCES_CONFIG": "b.toml"}) == Path("a.toml")
    assert find(None, {"SOURCES_CONFIG": "b.toml"}) == Path("b.toml")
    assert find(None, {}) == Path("sources.toml")
    with pytest.raises(ConfigError, match=r"neither a\.toml nor b\.toml is there \(copy sources\.example\.toml"):
        find(None, {}, (Path("a.toml"), Path("b.toml")))


@given(st.integers(0, 2**40))
def test_a_duration_and_a_size_read_back_as_they_were_written(quantity: int) -> None:
    assert parse_duration(format_duration(quantity)) == quantity
    assert parse_size(format_size(quantity)) == quantity


def test_units_are_what_people_mean() -> None:
    assert parse_duration("10m") == 10 * MINUTE_MS
    assert parse_size("2 kB") == 2_000
    assert parse_size("4MiB") == 4 << 20


@given(st.text() | st.binary().map(lambda data: data.decode("latin-1")))
def test_no_text_makes_the_reader_fail_without_a_plain_refusal(text: str) -> None:
    try:
        read(text)
    except ConfigError as error:
        assert all(line.isprintable() for line in str(error).split("\n"))


KEYS = st.sampled_from(
    (
        *("state_dir", "index", "embed", "search", "refresh", "log", "repo", "notes", "chat", "name", "url", "paths"),
        *("validate", "allowed", "overrides", "max_file", "timeout", "route", "phrases", "languages"),
    )
)
leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9)
values = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=5), max_leaves=12
)


@given(st.dictionaries(KEYS, values, max_size=6))
def test_no_value_of_any_type_at_any_known_key_is_more_than_a_refusal(table: dict[str, object]) -> None:
    from sources.config.decode import Decoder
    from sources.config.rules import contradictions

    decoder = Decoder(BASE, contradictions)
    config = decoder.table(Config, table)
    assert (config is None) == bool(decoder.problems) or isinstance(config, Config)

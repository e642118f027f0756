"""`sources scrub`: standard input to standard output, and never a secret in an explanation or an error."""

import json

from click.testing import CliRunner

from ingest.scrub.samples import sample
from sources.cli.scrub import BLOCK_BYTES, command


def run(*args: str, text: str | bytes) -> tuple[int, str]:
    result = CliRunner().invoke(command, list(args), input=text)
    return result.exit_code, result.stdout_bytes.decode() or result.output


def test_text_comes_out_scrubbed_and_otherwise_the_same() -> None:
    planted = sample("first line\nGITHUB_TOKEN=⟦{github:ghp_}⟧\r\nlast line, no line end")
    assert run(text=planted.text) == (0, planted.text.replace(planted.secrets[0], "‹redacted:github-token›"))


def test_bytes_that_are_no_utf8_come_back() -> None:
    result = CliRunner().invoke(command, [], input=b"caf\xe9 \xff\x00 ok")
    assert result.stdout_bytes == b"caf\xe9 \xff\x00 ok"


def test_jsonl_keeps_the_other_fields_and_lone_surrogates() -> None:
    planted = sample("password: ⟦{chosen}⟧")
    lines = [{"id": "1", "text": planted.text, "room": "!a"}, {"id": "2", "text": "\ud800 nothing"}]
    code, output = run("--jsonl", text="\n".join(map(json.dumps, lines)) + "\n\n")
    answers = [json.loads(line) for line in output.splitlines()]
    assert code == 0
    assert answers == [{"id": "1", "text": "password: ‹redacted:password›", "room": "!a"}, lines[1]]


def test_an_explanation_has_kind_and_place_and_not_the_secret() -> None:
    planted = sample("token ⟦{mas:mat_}⟧!")
    code, output = run("--explain", text=planted.text)
    assert (code, output) == (0, f"matrix-token 6 {6 + len(planted.secrets[0])}\n")
    code, output = run("--explain", "--jsonl", text=json.dumps({"id": 1, "text": planted.text}))
    assert json.loads(output)["findings"] == [{"kind": "matrix-token", "start": 6, "end": 6 + len(planted.secrets[0])}]
    assert planted.secrets[0] not in output


def test_a_bad_line_is_named_without_being_shown() -> None:
    planted = sample("⟦{github:ghp_}⟧")
    result = CliRunner().invoke(command, ["--jsonl"], input='{"id": 1, "text": "fine"}\n' + planted.text)
    assert result.exit_code == 1 and "line 2" in result.output and planted.secrets[0] not in result.output


def test_what_came_before_a_bad_line_is_answered() -> None:
    result = CliRunner().invoke(
        command, ["--jsonl"], input='{"id": 1, "text": "fine"}\n[]\n{"id": 3, "text": "late"}\n'
    )
    assert result.exit_code == 1 and "line 2" in result.output
    assert result.stdout_bytes == b'{"id":1,"text":"fine"}\n'


def test_lines_longer_than_what_is_read_at_once_stay_whole() -> None:
    planted = sample("⟦{github:ghp_}⟧")
    long = "word " * (BLOCK_BYTES // 4) + planted.text
    lines = [{"id": 1, "text": long}, {"id": 2, "text": "short"}]
    code, output = run("--jsonl", text="\n".join(map(json.dumps, lines)))
    answers = [json.loads(line) for line in output.splitlines()]
    assert code == 0
    assert [answer["text"] for answer in answers] == [long.replace(planted.text, "‹redacted:github-token›"), "short"]

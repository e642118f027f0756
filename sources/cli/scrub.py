"""`sources scrub`: try the scrubber on one's own logs. Reads standard input, writes it scrubbed; keeps nothing."""

import json
import sys
from typing import IO

import click


@click.command("scrub")
@click.option("--jsonl", "is_jsonl", is_flag=True, help='Lines of {"id", "text"} in and out; other fields are kept.')
@click.option(
    "--explain",
    "is_explained",
    is_flag=True,
    help="Instead of the text, kind and offsets of what would go; never the secret.",
)
def command(is_jsonl: bool, is_explained: bool) -> None:
    """Replace credentials in text on standard input by markers such as ‹redacted:github-token›."""
    source, target = sys.stdin.buffer, sys.stdout.buffer
    if is_jsonl:
        for number, line in enumerate(source, 1):
            if line.strip():
                write(target, scrub_line(line, number, is_explained=is_explained))
    else:
        text = source.read().decode("utf-8", "surrogateescape")
        if is_explained:
            for found in findings(text):
                write(target, f"{found['kind']} {found['start']} {found['end']}")
        else:
            from ingest.scrub import scrub

            target.write(scrub(text).encode("utf-8", "surrogateescape"))
    target.flush()


def findings(text: str) -> list[dict[str, str | int]]:
    from ingest.scrub import explain

    return [{"kind": f.kind, "start": f.start, "end": f.end} for f in explain(text)]


def scrub_line(line: bytes, number: int, *, is_explained: bool) -> str:
    from ingest.scrub import scrub

    try:
        item = json.loads(line)
        text = item["text"]
        if not isinstance(text, str):
            raise TypeError
    except (ValueError, KeyError, TypeError) as error:
        raise click.ClickException(
            f'standard input, line {number}: expected a JSON object with a string "text" '
            "(without --jsonl, plain text is read)"
        ) from error
    if is_explained:
        return json.dumps({"id": item.get("id"), "findings": findings(text)}, ensure_ascii=False)
    return json.dumps({**item, "text": scrub(text)}, ensure_ascii=False)


def write(target: IO[bytes], line: str) -> None:
    """A lone surrogate that JSON let in goes out as JSON wrote it."""
    try:
        raw = line.encode()
    except UnicodeEncodeError:
        raw = json.dumps(json.loads(line)).encode() if line.startswith("{") else line.encode("utf-8", "surrogatepass")
    target.write(raw + b"\n")


if __name__ == "__main__":
    command()

"""`sources scrub`: try the scrubber on one's own logs. Reads standard input, writes it scrubbed; keeps nothing."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from io import BufferedIOBase
from typing import IO, TYPE_CHECKING, Any, Final, cast

import click

if TYPE_CHECKING:
    from ingest.scrub import Finding

BLOCK_BYTES: Final = 1 << 20


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
    source, target = cast(BufferedIOBase, sys.stdin.buffer), sys.stdout.buffer
    if is_jsonl:
        scrub_lines(source, target, is_explained=is_explained)
    else:
        scrub_text(source, target, is_explained=is_explained)
    target.flush()


def scrub_text(source: BufferedIOBase, target: IO[bytes], *, is_explained: bool) -> None:
    from ingest.scrub import explain, scrub

    text = source.read().decode("utf-8", "surrogateescape")
    if is_explained:
        lines = (f"{finding.kind} {finding.start} {finding.end}\n" for finding in explain(text))
        target.write("".join(lines).encode())
    else:
        target.write(scrub(text).encode("utf-8", "surrogateescape"))


def scrub_lines(source: BufferedIOBase, target: IO[bytes], *, is_explained: bool) -> None:
    import msgspec

    from ingest.scrub import explain, scrub_all

    decode, encode = msgspec.json.decode, msgspec.json.encode
    done = 0
    for lines in blocks(source):
        items: list[dict[str, object]] = []
        texts: list[str] = []
        try:
            for number, line in enumerate(lines, done + 1):
                if line and not line.isspace():
                    item, text = read_item(line, number, decode)
                    items.append(item)
                    texts.append(text)
        finally:  # what came before a bad line has its answer
            if is_explained:
                answers = [explained(item, explain(text)) for item, text in zip(items, texts, strict=True)]
            else:
                answers = [item | {"text": text} for item, text in zip(items, scrub_all(texts), strict=True)]
            target.write(b"".join([as_line(answer, encode) for answer in answers]))
            target.flush()
        done += len(lines)


def explained(item: dict[str, object], findings: "Sequence[Finding]") -> dict[str, object]:
    places = [{"kind": finding.kind, "start": finding.start, "end": finding.end} for finding in findings]
    return {"id": item.get("id"), "findings": places}


def blocks(source: BufferedIOBase) -> Iterator[list[bytes]]:
    """Lines without their ends, those of one read together: a pipe is fast if its ends are seldom woken."""
    begun: list[bytes] = []
    while block := source.read1(BLOCK_BYTES):
        first, *others = block.split(b"\n")
        begun.append(first)
        if others:
            yield [b"".join(begun), *others[:-1]]
            begun = others[-1:]
    if last := b"".join(begun):
        yield [last]


def read_item(line: bytes, number: int, decode: Callable[[bytes], Any]) -> tuple[dict[str, object], str]:
    """`decode` is faster than the standard library and refuses lone surrogates, which that one takes."""
    try:
        try:
            item = decode(line)
        except ValueError:
            item = json.loads(line)
        text = item["text"]
        if not isinstance(text, str):
            raise TypeError
    except (ValueError, KeyError, TypeError) as error:
        raise click.ClickException(
            f'standard input, line {number}: expected a JSON object with a string "text" '
            "(without --jsonl, plain text is read)"
        ) from error
    return item, text


def as_line(item: dict[str, object], encode: Callable[[object], bytes]) -> bytes:
    try:
        return encode(item) + b"\n"
    except UnicodeEncodeError:  # a lone surrogate that JSON let in goes out as JSON writes it
        return json.dumps(item).encode() + b"\n"


if __name__ == "__main__":
    command()

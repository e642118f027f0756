"""`python -m ingest.scrub.describe > docs/scrubbing.md`: the page about scrubbing, with every rule and its examples."""

# ruff: noqa: E501  (patterns and word lists read better unbroken)

import sys
from typing import Final

from ingest.scrub.model import NameRule, Rule
from ingest.scrub.rules import FAMILIES
from ingest.scrub.samples import sample
from ingest.scrub.scrubber import SCRUB_VERSION, scrub

HEAD: Final = """# Scrubbing

A credential that was averaged into a vector can be neither found nor removed. So text is scrubbed before it is stored,
cut into chunks, embedded, logged or shown: message bodies, captions, edits, file names, Markdown, headers, titles, paths,
link targets, and queries before they go to an endpoint. What is found becomes a marker that says of which kind it was:

    DB_PASSWORD=‹redacted:password›

All other text stays as it is, byte for byte. Scrubbing a second time changes nothing.

## Try it

    sources scrub < app.log                  # the text, scrubbed
    sources scrub --explain < app.log        # kind, start and end of each find; never the secret
    sources scrub --jsonl < export.jsonl     # lines of {"id", "text"}

## What counts

A credential is what lets somebody in: tokens, passwords (well chosen or not), private and shared keys, signed or
secret-bearing addresses, second-factor seeds. Placeholders, masks, references to variables or files, public halves of keys,
hashes, ids and talk about passwords stay.

1. A shape that is unmistakable goes wherever it stands. A checksum proves a token; a bad one proves nothing, since a cut or
   mistyped token may still be most of a secret.
2. A name (`db_password`, `X-Api-Key`, `heslo`) makes the value beside it a candidate. Names are cut at case and at `_-.`;
   `max_tokens`, `public_key`, `cache_key` and `PASSWORD_FILE` hold none. The value must not be code, a reference or a dummy.
3. A sentence needs a value that looks chosen or drawn, or one in quotes right after "is".
4. Entropy alone is never a reason.

## When the rules change

`SCRUB_VERSION` (now {version}) is part of the index's fingerprint. A change that makes the rules find more raises it. The next
refresh sees the difference, reads every source again from where it is kept, scrubs it with the new rules and replaces
what changed: rows, vectors and the write-ahead log. Nobody has to ask for it. A change that only finds less does not raise it.

## How it stays fast

One scan for all literals says which rules are tried, and where; most messages open none. Patterns have bounded or
possessive repeats and begin at a literal, so that the time grows with the length of the text and with nothing else; a test
feeds each rule a megabyte of its worst input. `bench/scrub.py` prints megabytes a second.

## Rules

Generated from the rules by `python -m ingest.scrub.describe`. Examples are made at run time; here they are shown scrubbed.
"""


def line(text: str) -> str:
    shown = text.replace("\n", "\\n").replace("\t", "\\t")
    if len(shown) > 150:
        shown = shown[:147] + "..."
    return f"`` {shown} ``" if "`" in shown else f"`{shown}`"


def describe(rule: Rule | NameRule) -> str:
    kind = f"`‹redacted:{rule.kind}›`" if isinstance(rule, Rule) else "by the name: password, secret, token or key"
    rows = [f"#### {rule.name}", "", f"{rule.why} Marker: {kind}", ""]
    rows += [f"- found: {line(scrub(sample(template).text))}" for template in rule.finds]
    rows += [f"- left: {line(template)}" for template in rule.leaves]
    return "\n".join(rows)


def page() -> str:
    parts = [HEAD.replace("{version}", str(SCRUB_VERSION))]
    for family, rules in FAMILIES:
        parts.append(f"### {family}\n")
        parts += [describe(rule) + "\n" for rule in rules]
    return "\n".join(parts)


if __name__ == "__main__":
    sys.stdout.write(page())

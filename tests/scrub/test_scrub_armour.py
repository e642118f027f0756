"""Private keys: whatever stands before each line, however line ends are written, and where a block is cut."""

from random import Random

import pytest

from ingest.scrub import scrub
from ingest.scrub.checksums import BASE62
from ingest.scrub.samples import draw

PREFIXES = ["", "> ", "> > ", "    ", "\t", "# ", "// ", "+", "| ", "* ", "&gt; "]
LABELS = [
    "RSA PRIVATE KEY",
    "PRIVATE KEY",
    "ENCRYPTED PRIVATE KEY",
    "EC PRIVATE KEY",
    "DSA PRIVATE KEY",
    "OPENSSH PRIVATE KEY",
    "PGP PRIVATE KEY BLOCK",
    "MEGOLM SESSION DATA",
]
LINE_ENDS = ["\n", "\r\n", "\\n", "\\r\\n", "\\\\n"]


def lines(seed: int, count: int = 5) -> list[str]:
    random = Random(seed)
    return [*(draw(random, BASE62 + "+/", 64) for _ in range(count)), draw(random, BASE62 + "+/", 38) + "=="]


def leaked(text: str, body: list[str]) -> list[str]:
    return [line for line in body for at in range(0, len(line) - 11, 6) if line[at : at + 12] in text]


@pytest.mark.parametrize("prefix", PREFIXES)
@pytest.mark.parametrize("label", LABELS)
def test_a_block_with_any_prefix_loses_its_body_and_keeps_the_rest(label: str, prefix: str) -> None:
    body = lines(1)
    block = [f"-----BEGIN {label}-----", *body, f"-----END {label}-----"]
    text = "before\n" + "\n".join(prefix + line for line in block) + "\nafter, and thanks"
    scrubbed = scrub(text)
    assert not leaked(scrubbed, body)
    assert scrubbed.startswith(f"before\n{prefix}-----BEGIN {label}-----")
    assert scrubbed.endswith(f"-----END {label}-----\nafter, and thanks")


@pytest.mark.parametrize("line_end", LINE_ENDS)
def test_line_ends_may_be_escaped_once_or_twice(line_end: str) -> None:
    body = lines(2)
    text = (
        '{"key": "' + line_end.join(["-----BEGIN PRIVATE KEY-----", *body, "-----END PRIVATE KEY-----"]) + '", "id": 7}'
    )
    scrubbed = scrub(text)
    assert not leaked(scrubbed, body)
    assert scrubbed.endswith('-----END PRIVATE KEY-----", "id": 7}')


@pytest.mark.parametrize("rest", ["", "\n…", "\n```", "\n\nIt asks for no passphrase.", "\n[cut]", "\nthx"])
def test_a_block_without_an_end_loses_its_body_and_keeps_what_follows(rest: str) -> None:
    body = lines(3)
    scrubbed = scrub("\n".join(["-----BEGIN RSA PRIVATE KEY-----", *body]) + rest)
    assert not leaked(scrubbed, body)
    assert scrubbed.endswith(rest)


def test_a_block_without_a_beginning_loses_its_body() -> None:
    body = lines(4)
    scrubbed = scrub("the rest of it:\n" + "\n".join([*body, "-----END OPENSSH PRIVATE KEY-----"]))
    assert not leaked(scrubbed, body)
    assert scrubbed.startswith("the rest of it:\n")


def test_headers_of_an_encrypted_key_stay() -> None:
    body = lines(5)
    text = "\n".join(
        [
            "-----BEGIN RSA PRIVATE KEY-----",
            "Proc-Type: 4,ENCRYPTED",
            "DEK-Info: AES-128-CBC,00",
            "",
            *body,
            "-----END RSA PRIVATE KEY-----",
        ]
    )
    scrubbed = scrub(text)
    assert not leaked(scrubbed, body)
    assert "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n" in scrubbed


@pytest.mark.parametrize(
    "label",
    [
        "CERTIFICATE",
        "PUBLIC KEY",
        "RSA PUBLIC KEY",
        "CERTIFICATE REQUEST",
        "X509 CRL",
        "PGP MESSAGE",
        "PGP PUBLIC KEY BLOCK",
        "SSH SIGNATURE",
    ],
)
def test_what_is_public_stays(label: str) -> None:
    text = "\n".join([f"-----BEGIN {label}-----", *lines(6), f"-----END {label}-----"])
    assert scrub(text) == text


def test_two_blocks_and_the_text_between_them() -> None:
    first, second = lines(7), lines(8)
    text = "\n".join(
        [
            "-----BEGIN PRIVATE KEY-----",
            *first,
            "-----END PRIVATE KEY-----",
            "and the certificate:",
            "-----BEGIN CERTIFICATE-----",
            *second,
            "-----END CERTIFICATE-----",
        ]
    )
    scrubbed = scrub(text)
    assert not leaked(scrubbed, first) and all(line in scrubbed for line in second)
    assert "\nand the certificate:\n" in scrubbed

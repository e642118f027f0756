"""Secrets come from the credential directory alone, and nothing that is printed holds one."""

import copy
import os
import pickle
import secrets
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.errors import CredentialError
from sources.credentials import Credentials, Secret

Maker = Callable[..., Path]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "credentials"
    folder.mkdir(mode=0o700)
    return folder


def put(folder: Path, data: bytes, *, mode: int = 0o400, name: str = "token") -> Path:
    path = folder / name
    path.write_bytes(data)
    path.chmod(mode)
    return path


def refusal(folder: Path | None, name: str = "token") -> str:
    with pytest.raises(CredentialError) as caught:
        Credentials(folder).read(name)
    message = str(caught.value)
    assert "\n" not in message
    return message


@pytest.mark.parametrize("mode", [0o400, 0o600, 0o440, 0o640])
@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_a_private_file_gives_its_line(folder: Path, mode: int, end: bytes) -> None:
    word = secrets.token_hex(12)
    put(folder, word.encode() + end, mode=mode)
    assert Credentials(folder).read("token").reveal() == word


@pytest.mark.parametrize("mode", [0o404, 0o402, 0o401, 0o644, 0o666])
def test_a_file_open_to_others_is_refused(folder: Path, mode: int) -> None:
    put(folder, b"x", mode=mode)
    assert "is open to everyone" in refusal(folder)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"", "is empty"),
        (b"\n", "is empty"),
        (b" \n", "is empty"),
        (b"\xff\xfe", "is not UTF-8"),
        (b"a\nb\n", "several lines"),
        (b"a\0b", "control characters"),
        (b" a", "blanks around it"),
        (b"a" * 70_000, "is larger than 64 KiB"),
    ],
)
def test_a_file_that_cannot_be_a_secret_is_refused(folder: Path, data: bytes, problem: str) -> None:
    put(folder, data)
    assert problem in refusal(folder)


def test_a_refusal_never_quotes_the_file(folder: Path) -> None:
    word = secrets.token_hex(12)
    put(folder, f"{word}\n{word}".encode())
    assert word not in refusal(folder)


def test_a_link_inside_the_directory_is_followed_and_one_out_of_it_is_not(folder: Path, tmp_path: Path) -> None:
    put(folder, b"inside", name="..data")
    (folder / "token").symlink_to("..data")
    assert Credentials(folder).read("token").reveal() == "inside"
    put(tmp_path, b"outside", name="elsewhere")
    (folder / "other").symlink_to(tmp_path / "elsewhere")
    assert "is a link out of the directory" in refusal(folder, "other")


def test_what_is_not_a_file_is_refused_without_waiting_for_it(folder: Path) -> None:
    (folder / "a-folder").mkdir()
    assert "is not a file" in refusal(folder, "a-folder")
    os.mkfifo(folder / "pipe", mode=0o600)
    assert "is not a file" in refusal(folder, "pipe")
    (folder / "circle").symlink_to("circle")
    assert "cannot be read" in refusal(folder, "circle")


@pytest.mark.parametrize("name", ["../token", "a/b", "", ".", "..", "a\0b", "-x"])
def test_a_name_that_is_a_path_is_refused(folder: Path, name: str) -> None:
    assert "is not a file name" in refusal(folder, name)


def test_a_directory_that_everyone_may_write_to_is_refused(folder: Path) -> None:
    put(folder, b"x")
    folder.chmod(0o777)
    assert "everyone may write there" in refusal(folder)


def test_the_directory_is_the_given_one_then_that_of_the_service_manager() -> None:
    assert Credentials.found(Path("a"), {"CREDENTIALS_DIRECTORY": "b"}).directory == Path("a")
    assert Credentials.found(None, {"CREDENTIALS_DIRECTORY": "b"}).directory == Path("b")
    assert "--credentials-dir" in refusal(Credentials.found(None, {}).directory)


def test_a_missing_credential_is_named(folder: Path) -> None:
    assert refusal(folder) == f"{folder}/token: is missing (credentials.example says how to make it)"


@given(st.text(st.characters(categories=["L", "N"]), min_size=10))
def test_no_way_of_printing_a_secret_shows_it(word: str) -> None:
    secret = Secret(word)
    for shown in (str(secret), repr(secret), f"{secret}", f"{secret:>60}", f"{[secret]}", "%s" % secret, "%r" % secret):  # noqa: UP031
        assert word not in shown
    with pytest.raises(TypeError):
        pickle.dumps(secret)
    assert not hasattr(secret, "__dict__")


def test_secrets_are_equal_by_content_and_cannot_be_keys() -> None:
    word = secrets.token_hex(12)
    assert Secret(word) == Secret(word)
    assert Secret(word) != Secret(f"{word}x")
    assert Secret(word) != word
    assert copy.deepcopy(Secret(word)) == Secret(word)
    with pytest.raises(TypeError):
        hash(Secret(word))

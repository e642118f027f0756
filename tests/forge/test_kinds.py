"""Which files are read, and what they are taken for."""

import pytest

from index.model import Corpus, Kind
from ingest.forge.kinds import Form, form_of, is_candidate, kind_of


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("README.md", Kind.README),
        ("readme", Kind.README),
        ("docs/README-backup.md", Kind.README),
        ("Manual-restore.md", Kind.MANUAL),
        ("docs/manuals/disks.md", Kind.MANUAL),
        ("manual/index.rst", Kind.MANUAL),
        ("docs/manually.d/disks.txt", Kind.DOC),
        ("docs/Power.MD", Kind.DOC),
        ("docs/guide.adoc", Kind.DOC),
        ("etc/vhost.conf.template", Kind.TEMPLATE),
        ("house.example.toml", Kind.TEMPLATE),
        ("credentials.example", Kind.TEMPLATE),
        ("roles/web/nginx.conf.j2", Kind.TEMPLATE),
        ("backup/nightly.sh", Kind.HEADER),
        ("web/portal.php", Kind.HEADER),
        ("Makefile", Kind.HEADER),
        ("etc/house.conf", Kind.HEADER),
    ],
)
def test_a_path_has_its_kind(path: str, kind: Kind) -> None:
    form = form_of(path)
    assert form is not None
    assert kind_of(path, form, Corpus.FORGE) is kind
    assert is_candidate(path)


def test_in_notes_only_scripts_and_templates_are_told_apart() -> None:
    kinds = [kind_of(path, form, Corpus.NOTES) for path, form in [("README.md", Form.MARKDOWN), ("a.sh", Form.SCRIPT)]]
    assert kinds == [Kind.NOTE, Kind.HEADER]


@pytest.mark.parametrize("path", ["a.png", "a.svg", "package-lock.json", "requirements.txt", "robots.txt", "a.html"])
def test_other_files_are_no_candidates(path: str) -> None:
    assert form_of(path) is None
    assert not is_candidate(path)


def test_a_name_without_extension_is_told_by_its_first_bytes() -> None:
    assert is_candidate("bin/opensnoop")
    assert form_of("bin/opensnoop") is None
    assert form_of("bin/opensnoop", b"#!/bin/sh\n") is Form.SCRIPT

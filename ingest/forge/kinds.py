"""Which files are candidates at all, and what kind of text a path holds.

| name | kind |
| --- | --- |
| a Markdown or text file whose name begins with `readme` | readme |
| one whose name begins with `manual`, or that lies under a folder `manual` or `manuals` | manual |
| any other Markdown or text file (`.md .markdown .mdx .txt .rst .adoc` ...) | doc |
| `x.template .tmpl .tpl .j2 .jinja2 .example .sample .dist`, or such a word in front of the extension | template |
| a script, a source or a configuration file in a language whose comments we know | header |
| a file without an extension whose first bytes are `#!` | header |

In a folder of notes, readme, manual and doc are all `note`. Everything else is no candidate. The rules go from top to
bottom; cases do not matter.
"""

from enum import StrEnum
from pathlib import PurePosixPath
from typing import Final

from index.model import Corpus, Kind
from ingest.forge.languages import KNOWN_EXTENSIONS


class Form(StrEnum):
    """How a file is read, where its kind says what it is for."""

    MARKDOWN = "markdown"
    PLAIN = "plain"
    TEMPLATE = "template"
    SCRIPT = "script"


_MARKDOWN: Final = frozenset({".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd", ".rmd"})
_PLAIN: Final = frozenset({".txt", ".text", ".rst", ".adoc", ".asciidoc", ".org"})
_TEMPLATE_WORDS: Final = frozenset(
    {".template", ".tmpl", ".tpl", ".j2", ".jinja", ".jinja2", ".example", ".sample", ".dist", ".skel"}
)
_FOR_MACHINES: Final = frozenset({"robots.txt", "cmakelists.txt", "requirements.txt", "constraints.txt"})
_FOLDERS_OF_MANUALS: Final = frozenset({"manual", "manuals"})
_PROGRAM_NAMES: Final = frozenset({"makefile", "gnumakefile", "dockerfile", "containerfile", "justfile", "vagrantfile"})


def form_of(path: str, head: bytes = b"") -> Form | None:
    """How to read the file, or None when it is no candidate. `head` are its first bytes, where they are at hand."""
    name = PurePosixPath(path).name.casefold()
    suffixes = PurePosixPath(name).suffixes
    last = suffixes[-1] if suffixes else ""
    if last in _MARKDOWN:
        return Form.MARKDOWN
    if last in _TEMPLATE_WORDS or (len(suffixes) > 1 and suffixes[-2] in _TEMPLATE_WORDS):
        return Form.TEMPLATE
    if last in _PLAIN:
        return None if name in _FOR_MACHINES else Form.PLAIN
    if name in {"readme", "manual"}:
        return Form.PLAIN
    if last.removeprefix(".") in KNOWN_EXTENSIONS or name in _PROGRAM_NAMES:
        return Form.SCRIPT
    if not last and head.removeprefix(b"\xef\xbb\xbf").startswith(b"#!"):
        return Form.SCRIPT
    return None


def is_candidate(path: str) -> bool:
    """Whether it is worth reading the file: its name is a candidate's, or only its first bytes can tell."""
    return form_of(path) is not None or not PurePosixPath(path).suffix


def kind_of(path: str, form: Form, corpus: Corpus) -> Kind:
    if form is Form.SCRIPT:
        return Kind.HEADER
    if form is Form.TEMPLATE:
        return Kind.TEMPLATE
    if corpus is Corpus.NOTES:
        return Kind.NOTE
    *folders, name = (step.casefold() for step in path.split("/"))
    if name.startswith("readme"):
        return Kind.README
    if name.startswith("manual") or _FOLDERS_OF_MANUALS.intersection(folders):
        return Kind.MANUAL
    return Kind.DOC

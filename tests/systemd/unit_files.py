"""Reads unit files as the service manager does: keys that repeat, lines that go on, drop-ins of a prefix."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "systemd"

Sections = dict[str, list[tuple[str, str]]]


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit with its drop-ins: for each section its settings, in order."""

    name: str
    sections: Sections

    def all(self, section: str, key: str) -> list[str]:
        """Every value that was given, as far as an empty one did not take back what stood before."""
        found: list[str] = []
        for name, value in self.sections.get(section, []):
            if name == key:
                found = [*found, value] if value else []
        return found

    def one(self, section: str, key: str) -> str | None:
        return found[-1] if (found := self.all(section, key)) else None

    def has(self, section: str, key: str) -> bool:
        """Also when its value is empty."""
        return any(name == key for name, _ in self.sections.get(section, []))

    def keys(self, section: str) -> set[str]:
        return {name for name, _ in self.sections.get(section, [])}


def services() -> list[Unit]:
    return [read(path) for path in sorted(FOLDER.glob("*.service"))]


def unit(name: str) -> Unit:
    return read(FOLDER / name)


def read(path: Path) -> Unit:
    sections: Sections = {}
    for file in (path, *_drop_ins(path)):
        _add(sections, file.read_text())
    return Unit(path.name, sections)


def _drop_ins(path: Path) -> Iterator[Path]:
    """Of each prefix that ends in a dash: `sources-.service.d` for `sources-bot.service`."""
    stem = path.name.removesuffix(path.suffix).split("@")[0]
    words = stem.split("-")
    for count in range(1, len(words)):
        yield from sorted((path.parent / f"{'-'.join(words[:count])}-{path.suffix}.d").glob("*.conf"))


def _add(sections: Sections, text: str) -> None:
    section = ""
    for line in text.replace("\\\n", " ").splitlines():
        line = line.strip()
        if not line or line[0] in "#;":
            continue
        if line.startswith("["):
            section = line.strip("[]")
        else:
            key, _, value = line.partition("=")
            sections.setdefault(section, []).append((key.strip(), value.strip()))


def specifiers(text: str, values: Mapping[str, str]) -> str:
    for sign, value in values.items():
        text = text.replace(f"%{sign}", value)
    return text

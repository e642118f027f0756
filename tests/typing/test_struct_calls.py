"""`make types` finds where a function of `dataclasses` is given a Struct."""

import re
from pathlib import Path

import pytest
from mypy import api

ROOT = Path(__file__).parents[2]
SAMPLE = """
import dataclasses
from dataclasses import asdict, astuple, dataclass, fields, replace
from typing import TypeVar

import msgspec
from msgspec import Struct

class Record(Struct, frozen=True):
    name: str

class Further(Record, frozen=True):
    pass

@dataclass(frozen=True)
class Data:
    name: str

T = TypeVar("T", bound=Record)

def generic(one: T, other: Data | Record, kind: type[Record]) -> None:
    replace(one, name="b")  # wrong
    asdict(other)  # wrong
    fields(kind)  # wrong

replace(Record("a"), name="b")  # wrong
dataclasses.replace(Further("a"), name="b")  # wrong
asdict(Record("a"))  # wrong
astuple(Further("a"))  # wrong
fields(Record)  # wrong
replace(Data("a"), name="b")
asdict(Data("a"))
astuple(Data("a"))
fields(Data)
msgspec.structs.replace(Record("a"), name="b")
msgspec.structs.asdict(Record("a"))
"""


def test_what_only_fails_when_it_is_called_is_found_before(tmp_path: Path) -> None:
    sample = tmp_path / "sample.py"
    sample.write_text(SAMPLE)
    out, err, _ = api.run(
        ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(tmp_path / "cache"), str(sample)]
    )
    found = {int(line) for line in re.findall(r"sample\.py:(\d+): error: A msgspec\.Struct is no dataclass", out)}
    assert found == {number for number, line in enumerate(SAMPLE.split("\n"), 1) if "# wrong" in line}, out + err
    assert out.count("error:") == len(found), out


def test_it_really_fails_when_it_is_called() -> None:
    """Should that change, the plugin can go."""
    from dataclasses import replace
    from typing import Any

    from msgspec import Struct

    record: Any = Struct()
    with pytest.raises(TypeError, match="dataclass"):
        replace(record)

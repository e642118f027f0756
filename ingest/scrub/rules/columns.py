"""Values below or beside the name of their column: rows of SQL dumps, of Markdown tables and of CSV files."""

# ruff: noqa: E501  (patterns read better unbroken)

import re
from collections.abc import Iterator
from typing import Final

from ingest.scrub.model import NOTHING, Rule, Spans, gate
from ingest.scrub.names import Slot, known_slot
from ingest.scrub.slots import is_credential
from ingest.scrub.values import Value

Columns = dict[int, tuple[str, Slot]]
"""The columns that hold credentials, by their number, with name and slot."""
Cell = tuple[int, int]
"""Start and end."""

DIGEST: Final = re.compile(
    "(?:0x)?(?:[0-9a-fA-F]{32}|[0-9a-fA-F]{40}|[0-9a-fA-F]{56}|[0-9a-fA-F]{64}|[0-9a-fA-F]{128})"
)
"""What a table of users holds in place of passwords."""
LONGEST_LINE: Final = 2_000
MOST_ROWS: Final = 20_000
MOST_CELLS: Final = 40
LONGEST_STATEMENT: Final = 100_000


def columns_of(cells: list[str]) -> Columns:
    names = [cell.strip(" \t\"'`*[]:") for cell in cells]
    return {at: (name, slot) for at, name in enumerate(names) if len(name) <= 40 and (slot := known_slot(name))}


def found_in(cells: list[Cell], columns: Columns, text: str, *, quoted: bool) -> Spans:
    return tuple(
        (start, end)
        for at, (name, slot) in columns.items()
        if at < len(cells)
        for start, end in [bare_cell(cells[at], text)]
        if start < end and is_secret(Value(text[start:end], start, end, quoted, text, end), name, slot)
    )


def bare_cell(cell: Cell, text: str) -> Cell:
    """Without blanks, quotes and emphasis."""
    start, end = cell
    piece = text[start:end]
    inner = piece.strip(" \t\r\"'`*")
    start += piece.index(inner) if inner else 0
    return start, start + len(inner)


def is_secret(value: Value, name: str, slot: Slot) -> bool:
    if (slot is Slot.PASSWORD and DIGEST.fullmatch(value.text)) or (" " in value.text and not value.quoted):
        return False
    return is_credential(slot, value, name=name, sign=":")


SQL_VALUE: Final = re.compile(
    r"\s{0,20}(?:N?'(?P<s>(?:[^'\\]|\\.|''){0,4000}+)'|\"(?P<d>(?:[^\"\\]|\\.){0,4000}+)\"|[^,()'\"]{0,400}+(?:\([^()]{0,400}+\))?)\s{0,20}(?P<end>[,)])"
)
NEXT_ROW: Final = re.compile(r"\s{0,20},\s{0,20}\(")


def statement(match: re.Match[str], text: str) -> Spans:
    """The values of each row in the order in which the columns are named."""
    columns = columns_of(text[match.start("columns") : match.end("columns")].split(","))
    if not columns:
        return NOTHING
    spans: list[Cell] = []
    cells: list[Cell] = []
    at, limit = match.end(), match.end() + LONGEST_STATEMENT
    while at < limit and (value := SQL_VALUE.match(text, at)):
        group = "s" if value["s"] is not None else "d"
        cells.append(value.span(group) if value[group] is not None else (0, 0))
        at = value.end()
        if value["end"] == ")":
            spans += found_in(cells, columns, text, quoted=True)
            cells = []
            following = NEXT_ROW.match(text, at)
            if not following:
                break
            at = following.end()
    return tuple(spans)


def lines_after(at: int, text: str) -> Iterator[Cell]:
    """The lines that follow, without their ends; none that is longer than a row is."""
    for _ in range(MOST_ROWS):
        end = text.find("\n", at, at + LONGEST_LINE)
        if end < 0:
            end = len(text)
        if at >= len(text) or end - at > LONGEST_LINE:
            return
        yield at, end
        at = end + 1


def cut(line: Cell, separator: str, text: str) -> list[Cell]:
    cells, at = [], line[0]
    for piece in text[slice(*line)].split(separator):
        cells.append((at, at + len(piece)))
        at += len(piece) + 1
    return cells


def copied(match: re.Match[str], text: str) -> Spans:
    names = text[match.start("columns") : match.end("columns")].split(",")
    columns = columns_of(names)
    spans: list[Cell] = []
    for line in lines_after(match.end(), text) if columns and len(names) > 1 else ():
        cells = cut(line, "\t", text)
        if len(cells) != len(names):
            break
        spans += found_in(cells, columns, text, quoted=True)
    return tuple(spans)


RULER: Final = re.compile(r"[ \t>|:\-]+\r?\n?")


def table(match: re.Match[str], text: str) -> Spans | None:
    """Cells below the names that stand above the ruler."""
    low = max(0, match.start() - LONGEST_LINE)
    start = text.rfind("\n", low, match.start())
    above = text.rfind("\n", max(0, start - LONGEST_LINE), start) + 1 if start >= 0 else -1
    if above < 0 or not RULER.fullmatch(text, start + 1, match.end()):
        return None
    header = cut((above, start), "|", text)
    columns = columns_of([text[slice(*cell)].strip(" \t>") for cell in header])
    spans: list[Cell] = []
    for line in lines_after(match.end(), text) if columns else ():
        if "|" not in text[slice(*line)] or RULER.fullmatch(text, *line):
            break
        spans += found_in(cut(line, "|", text), columns, text, quoted=False)
    return tuple(spans)


HEADER: Final = re.compile(
    r" ?[\w\"'.\-]{1,40}(?: [\w\"'.\-]{1,20}){0,2} ?(?:[,;\t|] ?[\w\"'.\-]{0,40}(?: [\w\"'.\-]{1,20}){0,2} ?){1,20}"
)
CSV_NAMES: Final = (
    "password",
    "passwd",
    "passwort",
    "kennwort",
    "heslo",
    "secret",
    "token",
    "api_key",
    "apikey",
    "пароль",
)
CSV_WORD: Final = re.compile("|".join(CSV_NAMES))


def separated(match: re.Match[str], text: str) -> Spans | None:
    """A line of names with a separator between them, and lines below with as many separators, up to one that has not."""
    start = text.rfind("\n", max(0, match.start() - LONGEST_LINE), match.start()) + 1
    end = text.find("\n", match.start(), match.start() + LONGEST_LINE)
    start = CITED.match(text, start).end()  # type: ignore[union-attr]  # it matches nothing as well
    if end < start or not HEADER.fullmatch(text, start, end - (text[end - 1] == "\r")):
        return None
    separator = max(SEPARATORS, key=lambda sign: text.count(sign, start, end))
    header = cut((start, end), separator, text)
    columns = columns_of([text[slice(*cell)].strip() for cell in header])
    spans: list[Cell] = []
    for cells in records(end + 1, separator, text) if columns else ():
        row = cells[0][0], cells[-1][1]
        if len(cells) != len(header) or (CSV_WORD.search(text, *row) and HEADER.fullmatch(text, *row)):
            break
        spans += found_in(cells, columns, text, quoted=False)
    return tuple(spans)


SEPARATORS: Final = ",;\t|"
FIELDS: Final = {
    sign: re.compile(rf'"(?:[^"]|""){{0,4000}}+"(?=[{sign}\r\n]|$)|[^{sign}\r\n]{{0,2000}}+') for sign in SEPARATORS
}
"""A cell, which may go over several lines in quotes: notes in what managers of passwords export do."""
CITED: Final = re.compile(r"(?:>[ ]?){0,4}")
NO_ROW: Final = re.compile(r"[ \t>|:+\-]{0,400}\r?\n")
"""An empty line, or the one that psql draws below the names."""


def records(at: int, separator: str, text: str) -> Iterator[list[Cell]]:
    """The rows that follow, each with its cells."""
    for _ in range(MOST_ROWS):
        if empty := NO_ROW.match(text, at):
            at = empty.end()
        at = CITED.match(text, at).end()  # type: ignore[union-attr]  # it matches nothing as well
        cells: list[Cell] = []
        while len(cells) <= MOST_CELLS:
            field = FIELDS[separator].match(text, at)
            if field is None:
                return
            cells.append(field.span())
            at = field.end()
            if text[at : at + 1] != separator:
                break
            at += 1
        if cells[-1][1] == cells[0][0]:
            return
        yield cells
        at += text.startswith("\r", at)
        if text[at : at + 1] != "\n":
            return
        at += 1


NAME: Final = r"[`\"\[\]\w.$]{1,120}"

RULES: Final[tuple[Rule, ...]] = (
    Rule(
        name="sql-row",
        kind="password",
        why="Dumps and fixtures: the name of the column stands once, the values follow row by row. Hashes stay.",
        pattern=re.compile(
            rf"(?:insert|replace)(?: ignore)? into {NAME}\s{{0,8}}\((?P<columns>[^()'\n]{{3,1000}}|[\s\w,`\"\[\]]{{3,1000}})\)\s{{0,20}}(?:values?)\s{{0,20}}\("
        ),
        gate=gate("", "insert into ", "insert ignore into ", "replace into "),
        finds=(
            "INSERT INTO users (name, password) VALUES ('jana', '⟦{chosen}⟧');",
            "INSERT INTO `app`.`users` (`id`,`mail`,`password`,`role`) VALUES (1,'a@example.org','⟦{alnum:14}⟧','x'),(2,NULL,'⟦{chosen}⟧',lower('Y'));",
            "INSERT INTO bots (id, access_token) VALUES (7, '⟦{alnum:40}⟧');",
        ),
        leaves=(
            "INSERT INTO users (name, password) VALUES ($1, crypt($2, gen_salt('bf')));",
            "INSERT INTO users (name, password_hash) VALUES ('jana', '{hex:64}');",
            "INSERT INTO users (name, password) VALUES ('jana', '{hex:32}');",
            "INSERT INTO users (name, password) VALUES (?, ?)",
        ),
        worst="insert into a (b,password) values ('a','b'),",
        validate=statement,
        is_anchored=True,
        is_folded=True,
    ),
    Rule(
        name="copied-row",
        kind="password",
        why="The same as pg_dump writes it: COPY, then lines with tabs.",
        pattern=re.compile(rf"copy {NAME} \((?P<columns>[^()\n]{{3,1000}})\) from stdin[^\n]{{0,40}}\n"),
        gate=gate("", "copy "),
        finds=(
            "COPY public.users (id, name, password) FROM stdin;\n1\tjana\t⟦{chosen}⟧\n2\tpetr\t⟦{alnum:14}⟧\n\\.\n",
        ),
        leaves=("COPY public.users (id, password) FROM stdin;\n1\t$2b$12${alnum:53}\n\\.\n", "COPY . /app"),
        worst="copy a (b, password) from stdin;\n",
        validate=copied,
        is_anchored=True,
        is_folded=True,
    ),
    Rule(
        name="table-row",
        kind="password",
        why="Markdown tables of logins, as wikis have them: the name of the column above, the values below.",
        pattern=re.compile(r"(?:\|[ \t]{0,8}:?-{1,200}:?[ \t]{0,8}){1,40}+\|?[ \t]{0,8}\r?\n"),
        gate=gate(
            "|- |:",
            "| -",
            "| :",
            also=("pass", "heslo", "kennwort", "secret", "token", "key", "pw", "пароль"),
        ),
        finds=(
            "| host | user | password |\n|---|---|---|\n| db1 | jana | ⟦{chosen}⟧ |\n| db2 | petr | `⟦{alnum:14}⟧` |\n",
            "service | API key\n:--- | ---:\nmaps | ⟦{hex:32}⟧\n",
        ),
        leaves=(
            "| setting | password |\n|---|---|\n| length | 12 or more |\n| rotation | 90d |\n",
            "| token | meaning |\n|---|---|\n| `{{name}}` | the name |\n| id | `{uuid}` |\n",
        ),
        worst="|password|\n|-|\n|a|\n|b|\n|c|\n|d|\n|e|\n",
        validate=table,
        is_anchored=True,
    ),
    Rule(
        name="csv-row",
        kind="password",
        why="What browsers and managers of passwords export: a line of names, then lines of values.",
        pattern=CSV_WORD,
        gate=gate(" ".join(CSV_NAMES), also=tuple(SEPARATORS)),
        finds=(
            "name,url,username,password\nwiki,https://wiki.example.org/,jana,⟦{chosen}⟧\nforge,https://git.example.org/,petr,⟦{alnum:14}⟧\n",
            "user;heslo\njana;⟦{chosen}⟧\n",
            '"Title","Username","Password","Notes"\n"wiki","jana","⟦{chosen}⟧","two\nlines, both"\n"forge","petr","⟦{alnum:14}⟧",""\n',
            "> user,password\n> jana,⟦{chosen}⟧\n",
            " name | password\n------+----------\n jana | ⟦{chosen}⟧\n",
            "name,login_username,login_password\nwiki,jana,⟦{chosen}⟧\n",
        ),
        leaves=(
            "user,password,role\njana,see vault,admin\n",
            "user,password\n\nthe winter of 2019 was cold\n",
            "user | password\nnot stored | not stored either\n",
            "the user, password and role2 are\nasked for, then stored4, and so on\n",
        ),
        worst="a,password\nb,c\nd,e\nf,g\nh,i\nj,k\n",
        validate=separated,
        is_folded=True,
    ),
)

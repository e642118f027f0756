"""Languages whose comments we know, by the extension of a file. A file without a known one is read like a shell script.

`LINE_SIGNS` begin a line of comment, the longer ones first; `BLOCK_SIGNS` open and close a block.
"""

from typing import Final

_SHELLS: Final = frozenset({"sh", "bash", "zsh", "ksh", "fish", "awk", "tcl", "ps1", "mk", "cron"})
_SCRIPTS: Final = frozenset({"py", "pyw", "pl", "pm", "rb", "r", "jl", "ex", "exs", "nix", "tf"})
_SETTINGS: Final = frozenset({"toml", "yml", "yaml", "service", "timer", "socket", "mount", "path", "target", "rules"})
_BRACES: Final = frozenset(
    {"c", "h", "cc", "cpp", "hpp", "cs", "java", "kt", "kts", "go", "rs", "swift", "scala", "dart"}
)
_WEB: Final = frozenset({"js", "mjs", "cjs", "jsx", "ts", "tsx", "groovy", "scss", "less"})
PYTHON: Final = frozenset({"py", "pyw"})
LINE_SIGNS: Final[dict[str, tuple[str, ...]]] = {
    **dict.fromkeys(_SHELLS | _SCRIPTS | _SETTINGS, ("#",)),
    **dict.fromkeys(_BRACES | _WEB, ("///", "//!", "//")),
    **dict.fromkeys(("php", "phtml"), ("#", "//")),
    **dict.fromkeys(("ini", "conf", "cfg", "cnf"), ("#", ";")),
    **dict.fromkeys(("sql", "lua", "hs"), ("--",)),
    **dict.fromkeys(("lisp", "el"), (";",)),
    **dict.fromkeys(("bat", "cmd"), ("REM ", "rem ", "::")),
    "vim": ('"',),
    "erl": ("%",),
    "css": (),
}
BLOCK_SIGNS: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    **dict.fromkeys(_BRACES | _WEB | {"php", "phtml", "css", "sql", "tf"}, (("/*", "*/"),)),
    **dict.fromkeys(PYTHON, (('"""', '"""'), ("'''", "'''"))),
    "ps1": (("<#", "#>"),),
    "lua": (("--[[", "]]"),),
    "hs": (("{-", "-}"),),
    "rb": (("=begin", "=end"),),
}
SHELL_SIGNS: Final = ("#",)

KNOWN_EXTENSIONS: Final = frozenset(LINE_SIGNS) | frozenset(BLOCK_SIGNS)

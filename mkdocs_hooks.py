"""For the built site: what a page of docs/ links to outside of docs/ goes along, so that no link is dead there."""

import re
import shutil
from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parent
_OUTSIDE = re.compile(r"\]\(\.\./([^)#\s]+)\)")
_linked: set[str] = set()


def on_page_markdown(markdown: str, **_: Any) -> str:
    """The same link, one folder lower: `../examples/x` is `examples/x` beside the page."""
    _linked.update(_OUTSIDE.findall(markdown))
    return _OUTSIDE.sub(r"](\1)", markdown)


def on_post_build(config: Any, **_: Any) -> None:
    for name in _linked:
        target = Path(config["site_dir"]) / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(_ROOT / name, target)

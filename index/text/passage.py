"""Where in its source a hit of a repository or of notes stands, as one line. Pure."""

from index.model import Hit


def passage(hit: Hit) -> str:
    """`docs guide/keys.md:12-30 › Keys › Rotation`."""
    name = str(hit.source).partition(":")[2] or str(hit.source)
    first, last = hit.lines or (0, 0)
    lines = "" if hit.lines is None else f":{first}-{last}" if first != last else f":{first}"
    trail = [part for part in (*hit.heading, hit.section, hit.paragraph) if part]
    # Headings of a script header are its section and paragraph: each is said once.
    steps = [part for number, part in enumerate(trail) if part not in trail[:number]]
    return " › ".join((f"{name} {hit.path or hit.title}{lines}", *steps))

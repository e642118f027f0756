"""Real repositories on the spot. A commit is one `git fast-import`, which takes any tree, odd names included."""

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

FILE, SCRIPT, LINK, SUBMODULE = "100644", "100755", "120000", "160000"
ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": os.devnull,
    "LC_ALL": "C",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_AUTHOR_NAME": "n",
    "GIT_AUTHOR_EMAIL": "n@example.org",
    "GIT_COMMITTER_NAME": "n",
    "GIT_COMMITTER_EMAIL": "n@example.org",
}

Content = bytes | tuple[str, bytes]  # of a file, or mode and content (of a submodule: its commit)
Files = Mapping[bytes, Content]


def git(folder: Path, *arguments: str, stdin: bytes | None = None) -> bytes:
    """A plain git of the tests' own, not the one under test."""
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=ENVIRONMENT, input=stdin, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
    return done.stdout


@dataclass
class Origin:
    """A bare repository that somebody pushes to."""

    path: Path
    commits: int = 0

    @classmethod
    def at(cls, path: Path, *, branch: str = "main", object_format: str = "sha1") -> "Origin":
        path.mkdir(parents=True)
        git(path, "init", "--quiet", "--bare", f"--initial-branch={branch}", f"--object-format={object_format}")
        return cls(path)

    def commit(self, files: Files, *, branch: str = "main", is_forced: bool = False) -> str:
        """Make `files` the whole content of `branch`; forced: as a commit without parent."""
        stream = self.stream(files, branch=branch, is_root=is_forced)
        git(self.path, "fast-import", "--quiet", "--force", stdin=stream)
        return self.head(branch)

    def stream(self, files: Files, *, branch: str = "main", is_root: bool = False) -> bytes:
        self.commits += 1
        ref = f"refs/heads/{branch}"
        exists = (self.path / ref).exists() and not is_root
        out = [b"reset %s\n" % ref.encode()] if is_root else []
        out.append(b"commit %s\ncommitter n <n@example.org> %d +0000\n" % (ref.encode(), 1_700_000_000 + self.commits))
        out.append(b"data 0\n" + (b"from %s^0\n" % ref.encode() if exists else b"") + b"deleteall\n")
        for path, content in files.items():
            mode, data = content if isinstance(content, tuple) else (FILE, content)
            quoted = b'"' + b"".join(b"\\%03o" % byte for byte in path) + b'"'
            if mode == SUBMODULE:
                out.append(b"M %s %s %s\n" % (mode.encode(), data, quoted))
            else:
                out.append(b"M %s inline %s\ndata %d\n%s\n" % (mode.encode(), quoted, len(data), data))
        return b"".join(out)

    def head(self, branch: str = "main") -> str:
        return git(self.path, "rev-parse", f"refs/heads/{branch}").decode().strip()

    def remove(self) -> None:
        self.path.rename(self.path.with_name(self.path.name + ".gone"))

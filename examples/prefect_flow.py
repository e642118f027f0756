"""Refresh, full rebuild and audit as a Prefect flow, through the command line and nothing else.

    python prefect_flow.py refresh          # or: rebuild, audit, nightly
    python prefect_flow.py refresh --config /etc/sources/sources.toml --credentials-dir /etc/sources/credentials

Without Prefect the same functions run as they are. With it (pip install prefect) each is a task of a flow, and
`nightly.serve(cron="0 3 * * *")` or a deployment takes the place of the timer: then disable `sources-refresh.timer`, or
leave it; a refresh that finds another one running waits for it.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

try:
    from prefect import flow, task
except ImportError:

    def task(**_options: Any) -> Callable[[Function], Function]:
        return lambda function: function

    flow = task


class RunFailedError(RuntimeError):
    """A command ended with a code that waiting may mend; Prefect tries it again."""


class NeedsSomebodyError(RuntimeError):
    """A command ended with a code that nobody but a person mends: 2 configuration, 4 credential, 5 reindex needed."""


def is_worth_another_try(_task: object, _run: object, state: Any) -> bool:
    try:
        state.result()
    except NeedsSomebodyError:
        return False
    except RunFailedError:
        return True
    return False


def sources(*arguments: str, common: Sequence[str] = (), fine: Sequence[int] = (0,)) -> dict[str, Any]:
    """Run one command and return what it says as JSON. `fine` are the exit codes that are no failure."""
    command = ["sources", *arguments, "--json", *common]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in fine:
        said = done.stderr.strip() or "; ".join(_faults(done.stdout))
        error = NeedsSomebodyError if done.returncode in (2, 4, 5) else RunFailedError
        raise error(f"{' '.join(arguments)}: exit code {done.returncode}: {said}")
    record: dict[str, Any] = json.loads(done.stdout)
    return record


def _faults(output: str) -> list[str]:
    """What a refresh says of its sources that failed."""
    try:
        return [str(one["fault"]) for one in json.loads(output).get("sources", ()) if one.get("fault")]
    except ValueError:
        return []


@task(name="refresh", retries=3, retry_delay_seconds=[60, 300, 900], retry_condition_fn=is_worth_another_try)
def refresh(common: Sequence[str] = ()) -> dict[str, Any]:
    """Read what changed. A source that failed is tried again; the others are done by then."""
    return sources("refresh", "--if-busy", "wait", common=common)


@task(name="rebuild", retries=1, retry_delay_seconds=900, retry_condition_fn=is_worth_another_try)
def rebuild(common: Sequence[str] = ()) -> dict[str, Any]:
    """Read everything again, under the present configuration and model."""
    return sources("refresh", "--full", "--if-busy", "wait", common=common)


@task(name="audit", retries=1, retry_delay_seconds=300, retry_condition_fn=is_worth_another_try)
def audit(common: Sequence[str] = ()) -> dict[str, Any]:
    """What is old, missing or out of step. Findings are a result, not a failure: `ok` says whether there are any."""
    return sources("audit", common=common, fine=(0, 1))


@flow(name="sources-refresh")
def refresh_flow(common: Sequence[str] = ()) -> dict[str, Any]:
    return refresh(common)


@flow(name="sources-rebuild")
def rebuild_flow(common: Sequence[str] = ()) -> dict[str, Any]:
    return rebuild(common)


@flow(name="sources-audit")
def audit_flow(common: Sequence[str] = ()) -> dict[str, Any]:
    return audit(common)


@flow(name="sources-nightly")
def nightly(common: Sequence[str] = ()) -> dict[str, Any]:
    """A refresh and then an audit of what it left."""
    return {"refresh": refresh(common), "audit": audit(common)}


FLOWS = {"refresh": refresh_flow, "rebuild": rebuild_flow, "audit": audit_flow, "nightly": nightly}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="Run one flow, with or without Prefect.")
    parser.add_argument("flow", choices=FLOWS)
    parser.add_argument("--config", help="as for `sources`")
    parser.add_argument("--credentials-dir", help="as for `sources`")
    given = parser.parse_args(arguments)
    common = [word for word in ("config", "credentials_dir") if getattr(given, word) is not None]
    options = [part for word in common for part in (f"--{word.replace('_', '-')}", getattr(given, word))]
    try:
        print(json.dumps(FLOWS[given.flow](options), indent=2))  # noqa: T201
    except (RunFailedError, NeedsSomebodyError) as error:
        print(f"sources: {error}", file=sys.stderr)  # noqa: T201
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

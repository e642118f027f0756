"""docs/monitoring.md has every metric and every log event; the dashboard and the alarms ask for nothing else."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import yaml

from sources.metrics.families import BY_NAME, FAMILIES
from tests.docs.log_events import LogEvent, log_events

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "monitoring.md").read_text()
ADDED_BY_PROMETHEUS = {"instance", "job"}


def rows(first: str) -> dict[str, list[str]]:
    """The cells of each row of the table whose first heading is `first`, by the name in the row's first cell."""
    table = PAGE.split(f"| {first} |", 1)[1].split("\n\n", 1)[0].splitlines()[2:]
    split = ([cell.strip() for cell in line.strip("|").split("|")] for line in table)
    return {cells[0].strip("`"): cells for cells in split}


def named(cell: str) -> frozenset[str]:
    return frozenset(re.findall(r"`(\w+)`", cell))


def test_every_metric_is_documented_as_it_is() -> None:
    documented = {name: (cells[1], named(cells[2]), cells[3]) for name, cells in rows("Metric").items()}
    assert documented == {one.name: (one.type.value, frozenset(one.labels), one.help) for one in FAMILIES}


def test_every_log_event_is_documented_with_its_level_and_keys() -> None:
    table = rows("Event")
    documented = {name: LogEvent(name, cells[1], named(cells[2])) for name, cells in table.items()}
    assert documented == log_events()
    assert [name for name, cells in table.items() if not cells[3].endswith(".")] == []


def test_names_follow_the_field_s_conventions() -> None:
    assert [one.name for one in FAMILIES if not re.fullmatch(r"sources_[a-z_]+", one.name)] == []
    assert [one.name for one in FAMILIES if one.name.endswith("_total") != (one.type.value == "counter")] == []
    assert [name for name in log_events() if not re.fullmatch(r"[a-z]+\.[a-z_]+", name)] == []


def expressions() -> Iterator[str]:
    dashboard = json.loads((ROOT / "monitoring" / "grafana.json").read_text())
    for panel in dashboard["panels"]:
        for target in panel["targets"]:
            yield target["expr"]
    for variable in dashboard["templating"]["list"]:
        yield variable["query"]
    for rule in alerts():
        yield rule["expr"]


def alerts() -> list[dict[str, str]]:
    groups = yaml.safe_load((ROOT / "monitoring" / "alerts.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def test_dashboard_and_alarms_ask_for_metrics_and_labels_that_are_there() -> None:
    asked: set[str] = set()
    for text in expressions():
        names = set(re.findall(r"\bsources_\w+", text))
        assert names <= BY_NAME.keys(), text
        labels = {label for name in names for label in BY_NAME[name].labels} | ADDED_BY_PROMETHEUS
        grouped = [label for group in re.findall(r"by \(([^)]*)\)", text) for label in group.split(", ")]
        assert {*re.findall(r'(\w+)[!=]~?"', text), *grouped} <= labels, text
        assert text.count("(") == text.count(")") and text.count("{") == text.count("}"), text
        for name in names:
            is_increase = re.search(rf"increase\({name}", text) is not None
            assert is_increase == (BY_NAME[name].type.value == "counter"), text
        asked |= names
    assert asked == BY_NAME.keys(), "a metric that no panel shows"


def test_every_legend_names_labels_of_its_metric() -> None:
    for panel in json.loads((ROOT / "monitoring" / "grafana.json").read_text())["panels"]:
        for target in panel["targets"]:
            [name] = set(re.findall(r"\bsources_\w+", target["expr"]))
            legend = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            assert legend <= {*BY_NAME[name].labels, *ADDED_BY_PROMETHEUS}, target


def test_every_alarm_is_explained_with_what_to_do() -> None:
    explained = rows("Alert")
    assert explained.keys() == {rule["alert"] for rule in alerts()}
    assert all(cells[2] for cells in explained.values())


def test_the_alarm_of_a_stale_source_waits_as_long_as_status_does() -> None:
    from sources.config.model import Audit

    [rule] = [rule for rule in alerts() if rule["alert"] == "SourcesSourceStale"]
    assert f"> {Audit().refresh_overdue_ms // 3_600_000} * 3600" in rule["expr"]

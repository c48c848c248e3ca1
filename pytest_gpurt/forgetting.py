"""Takes back what pytest's own reporters have noted of a test that means nothing."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from _pytest.junitxml import mangle_test_address


def forget_reports(config: pytest.Config, nodeid: str) -> None:
    """Forgets the outcome of a test, in the terminal's summary and in XML."""
    manager = config.pluginmanager
    reporter: Any = manager.get_plugin("terminalreporter")
    for category, reports in list(reporter.stats.items()) if reporter is not None else ():
        kept = [report for report in reports if getattr(report, "nodeid", None) != nodeid]
        if len(kept) != len(reports):
            reporter.stats[category] = kept
    for plugin in manager.get_plugins():
        if hasattr(plugin, "node_reporters_ordered"):
            _forget_in_xml(plugin, nodeid)


@contextmanager
def keeping_last_failed(config: pytest.Config) -> Iterator[None]:
    """Within the block nothing is forgotten of the tests that `--lf` runs again."""
    plugin: Any = config.pluginmanager.get_plugin("lfplugin")
    before = {} if plugin is None else dict(plugin.lastfailed)
    try:
        yield
    finally:
        if before:
            plugin.lastfailed.update(before)


def _forget_in_xml(xml: Any, nodeid: str) -> None:
    names = mangle_test_address(nodeid)
    mine = (".".join(names[:-1]), names[-1])
    for reporter in list(xml.node_reporters_ordered):
        case = reporter.to_xml()
        if (case.get("classname"), case.get("name")) == mine:
            xml.node_reporters_ordered.remove(reporter)
            for counted in _counted(case):
                xml.stats[counted] = xml.stats.get(counted, 1) - 1


def _counted(case: Any) -> Iterator[str]:
    """What a case has been counted as in the totals of its suite."""
    tags = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
    yield from tags or ["passed"]

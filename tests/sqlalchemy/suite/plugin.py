"""SQLAlchemy's plugin for pytest, which its suite needs; only what `setup.cfg` here starts loads it."""

from __future__ import annotations

import pytest
from sqlalchemy.dialects import registry

registry.register("dpsql.suite", "tests.sqlalchemy.suite.passthrough", "SuiteDialect")
pytest.register_assert_rewrite("sqlalchemy.testing.assertions")

from sqlalchemy.testing.plugin.pytestplugin import *  # noqa: E402, F403

from tests.sqlalchemy.suite.requirements import LEFT_OUT  # noqa: E402


def pytest_collection_finish(session: pytest.Session) -> None:
    """Leave out what has its reason. By now each class is there once for each database."""
    for item in session.items:
        assert item.parent is not None
        name = f"{item.parent.name.partition('_dpsql')[0]}::{item.name}"
        for left_out, reason in LEFT_OUT.items():
            if name.startswith(left_out):
                item.add_marker(pytest.mark.skip(reason=reason))

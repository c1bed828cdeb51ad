"""Parts of SQLAlchemy's own suite for dialects: `python -m pytest -c tests/sqlalchemy/suite/setup.cfg`."""

from sqlalchemy.testing.suite.test_cte import *  # noqa: F403
from sqlalchemy.testing.suite.test_dialect import *  # noqa: F403
from sqlalchemy.testing.suite.test_reflection import *  # noqa: F403
from sqlalchemy.testing.suite.test_results import *  # noqa: F403
from sqlalchemy.testing.suite.test_select import *  # noqa: F403
from sqlalchemy.testing.suite.test_types import *  # noqa: F403

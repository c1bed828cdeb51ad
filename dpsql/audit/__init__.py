"""`dpsql audit`: dpsql attacks itself, on a synthetic twin of the owner's own policy."""

from dpsql.audit.attack import CASES, audit

__all__ = ["CASES", "audit"]

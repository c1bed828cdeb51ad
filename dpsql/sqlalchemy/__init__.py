"""The SQLAlchemy dialect: `create_engine("dpsql:///config/pums.yaml?analyst=alice")`, in process.

    dialect      URLs, connections, what a statement costs
    compiler     SQLAlchemy's expressions as SQL of the policy's dialect
    kinds        types: of columns, and of what comes back
    reflection   tables and columns, from the policy

A policy is its "database". Nothing is written: there are no transactions, and INSERT or CREATE are refused as dpsql
refuses them.
"""

from dpsql.sqlalchemy.dialect import DpsqlDialect

__all__ = ["DpsqlDialect"]

"""Other projects' test queries as a yardstick: policies and data for their tables, and what became of each query.

The queries themselves stay outside of the repository. `python -m tests.corpus.compare DIRECTORY` runs them.
"""

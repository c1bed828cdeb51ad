"""Mutants: dpsql with one fault each, to test the tests. A fault that no test notices is one that could ship.

`planted.py` holds faults that other systems shipped, or that this one nearly had: each must be killed by the test that
is named for it. `operators.py` makes the same kinds of faults everywhere in the modules that privacy rests on, and
`survivors.csv` says of each that no test notices why it is none. `python -m tests.mutants --help` runs both.
"""

"""How large the errors of answers are, beside those of other libraries, and whether intervals hold what they promise.

    python -m tests.benchmarks.accuracy [what …] [--releases 20000] [--statements 400] [--peers]

What it prints is Markdown, and it exits with 1 where something is missed, naming it. `what` is any of

    tables     the error of each number at ε 1 with both mechanisms, beside its target and what was recorded of others:
               once from releases of exact sums that are fetched once, once from statements through a session
    epsilons   the same at ε 0.1, 0.5 and 1, against the best of the others
    coverage   how often 95 % intervals hold the exact number, from 20 rows on
    sampler    the time of cube noise

and without any it is all of them. With `--peers` those of the others that pip can install are installed, each into an
environment of its own, and measured in the same run on the same files; without it they are only those of the record.
There are hundreds of comparisons, each allowing for three standard errors, so that now and then one is missed by
chance: more releases and statements tell.

    data      the two data sets, and sessions over them
    recorded  targets, and what was measured of others before
    measure   errors of releases and of statements, with their standard errors
    law       the error that the law of the noise gives, without drawing any
    coverage  intervals
    report    the tables
    peers     environments, and one script for each of the others
"""

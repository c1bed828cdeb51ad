"""PyDP, the Python side of Google's C++ library: one row more or less, pure ε."""

import csv

import pydp.algorithms.laplacian as laplacian


def answers(job):
    with open(job["file"], encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    columns = {"income": [float(row["income"]) for row in rows], "age": [float(row["age"]) for row in rows]}
    epsilon = job["epsilon"]

    def bounded(algorithm, column, part, **more):
        made = algorithm(epsilon=part, lower_bound=0.0, upper_bound=float(job[column]), dtype="float", **more)
        return made.quick_result(columns[column])

    def count(part):
        return laplacian.Count(epsilon=part, dtype="float").quick_result(columns["income"])

    def together():
        part = epsilon / 3
        means = (bounded(laplacian.BoundedMean, name, part) for name in ("income", "age"))
        return (count(part), *means)

    def together_with_sum():
        part = epsilon / 4
        total = bounded(laplacian.BoundedSum, "income", part)
        means = (bounded(laplacian.BoundedMean, name, part) for name in ("income", "age"))
        return (count(part), total, *means)

    def one(algorithm, column):
        return lambda: (bounded(algorithm, column, epsilon),)

    return {
        "COUNT(*)": [("Count", lambda: (count(epsilon),))],
        "SUM(income)": [("BoundedSum", one(laplacian.BoundedSum, "income"))],
        "AVG(income)": [("BoundedMean", one(laplacian.BoundedMean, "income"))],
        "AVG(age)": [("BoundedMean", one(laplacian.BoundedMean, "age"))],
        "VARIANCE(age)": [("BoundedVariance", one(laplacian.BoundedVariance, "age"))],
        "MEDIAN(income)": [
            ("Median", one(laplacian.Median, "income")),
            ("Percentile", lambda: (bounded(laplacian.Percentile, "income", epsilon, percentile=0.5),)),
        ],
        "COUNT(*), AVG(income), AVG(age)": [("Count and two BoundedMean, ε/3 each", together)],
        "COUNT(*), SUM(income), AVG(income), AVG(age)": [
            ("Count, BoundedSum and two BoundedMean, ε/4 each", together_with_sum)
        ],
    }

"""OpenDP, its framework of measurements: one row more or less, pure ε."""

import csv

import opendp.prelude as dp

COARSE = 100
"""Steps of the coarse grid of candidates."""


def answers(job):
    dp.enable_features("contrib")
    with open(job["file"], encoding="utf-8") as file:
        rows = [(round(float(row["income"])), int(row["age"])) for row in csv.DictReader(file)]
    columns = {"income": [row[0] for row in rows], "age": [row[1] for row in rows]}
    epsilon = job["epsilon"]
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()

    def fitted(make, part):
        return dp.binary_search_chain(make, d_in=1, d_out=part)

    def count(part):
        return fitted(lambda scale: space >> dp.t.then_count() >> dp.m.then_laplace(scale), part)

    def total(column, part):
        bounded = space >> dp.t.then_clamp((0, job[column])) >> dp.t.then_sum()
        return fitted(lambda scale: bounded >> dp.m.then_laplace(scale), part)

    def mean(column):
        counted, added = count(epsilon / 2), total(column, epsilon / 2)
        return lambda: (added(columns[column]) / max(counted(columns[column]), 1),)

    def together(with_sum):
        counted, income, age = count(epsilon / 3), total("income", epsilon / 3), total("age", epsilon / 3)

        def answer():
            n, a, b = counted(columns["income"]), income(columns["income"]), age(columns["age"])
            means = a / max(n, 1), b / max(n, 1)
            return (n, a, *means) if with_sum else (n, *means)

        return answer

    def median(step):
        candidates = list(range(0, job["income"] + 1, step))
        measure = dp.max_divergence()
        chosen = fitted(lambda scale: dp.m.make_private_quantile(*space, measure, candidates, 0.5, scale), epsilon)
        return lambda: (chosen(columns["income"]),)

    def one(measurement, column):
        return lambda: (measurement(columns[column]),)

    halves = "make_sum and make_count with Laplace noise, ε/2 each"
    thirds = "one make_count and two make_sum with Laplace noise, ε/3 each"
    found = {
        "COUNT(*)": [("make_count, Laplace noise", lambda: one(count(epsilon), "income"))],
        "SUM(income)": [("make_clamp, make_sum, Laplace noise", lambda: one(total("income", epsilon), "income"))],
        "AVG(income)": [(halves, lambda: mean("income"))],
        "AVG(age)": [(halves, lambda: mean("age"))],
        "MEDIAN(income)": [
            ("make_private_quantile, 101 candidates", lambda: median(job["income"] // COARSE)),
            ("make_private_quantile, a candidate for each whole number", lambda: median(1)),
        ],
        "COUNT(*), AVG(income), AVG(age)": [(thirds, lambda: together(False))],
        "COUNT(*), SUM(income), AVG(income), AVG(age)": [(thirds, lambda: together(True))],
    }
    return {query: [(how, make()) for how, make in ways] for query, ways in found.items() if query in job["queries"]}

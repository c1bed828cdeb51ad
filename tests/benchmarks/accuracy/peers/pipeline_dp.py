"""PipelineDP on this machine alone: one row more or less, which is one privacy id; Laplace noise, pure ε."""

import csv

import pipeline_dp


def answers(job):
    with open(job["file"], encoding="utf-8") as file:
        rows = [(float(row["income"]), float(row["age"])) for row in csv.DictReader(file)]
    places = {"income": 0, "age": 1}

    def released(*wanted):
        """The numbers of aggregations, each a column, its metrics and their names, that share ε."""
        accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=job["epsilon"], total_delta=0)
        engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
        results = []
        for column, metrics, names in wanted:
            params = pipeline_dp.AggregateParams(
                metrics=metrics,
                noise_kind=pipeline_dp.NoiseKind.LAPLACE,
                max_partitions_contributed=1,
                max_contributions_per_partition=1,
                min_value=0,
                max_value=job[column],
                contribution_bounds_already_enforced=True,
            )
            place = places[column]
            extractors = pipeline_dp.DataExtractors(
                partition_extractor=lambda row: 0, value_extractor=lambda row, place=place: row[place]
            )
            results.append((engine.aggregate(rows, params, extractors, public_partitions=[0]), names))
        accountant.compute_budgets()
        return [getattr(next(iter(result))[1], name) for result, names in results for name in names]

    metric = pipeline_dp.Metrics

    def one(column, kind, name):
        return lambda: released((column, [kind], [name]))

    def together(kinds, names):
        return lambda: released(("income", kinds, names), ("age", [metric.MEAN], ["mean"]))

    shared = "one aggregation of income and one of age, which share ε"
    return {
        "COUNT(*)": [("COUNT", one("income", metric.COUNT, "count"))],
        "SUM(income)": [("SUM", one("income", metric.SUM, "sum"))],
        "AVG(income)": [("MEAN", one("income", metric.MEAN, "mean"))],
        "AVG(age)": [("MEAN", one("age", metric.MEAN, "mean"))],
        "VARIANCE(age)": [("VARIANCE", one("age", metric.VARIANCE, "variance"))],
        "MEDIAN(income)": [("PERCENTILE(50)", one("income", metric.PERCENTILE(50), "percentile_50"))],
        "COUNT(*), AVG(income), AVG(age)": [(shared, together([metric.COUNT, metric.MEAN], ["count", "mean"]))],
        "COUNT(*), SUM(income), AVG(income), AVG(age)": [
            (shared, together([metric.COUNT, metric.SUM, metric.MEAN], ["count", "sum", "mean"]))
        ],
    }

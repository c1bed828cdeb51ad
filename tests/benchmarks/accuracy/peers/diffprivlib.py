"""diffprivlib: it takes the number of rows to be public, and a row to be replaced. So it has no COUNT."""

import csv

import numpy
from diffprivlib import tools


def answers(job):
    with open(job["file"], encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    columns = {name: numpy.array([float(row[name]) for row in rows]) for name in ("income", "age")}

    def one(tool, column):
        return lambda: (tool(columns[column], epsilon=job["epsilon"], bounds=(0.0, float(job[column]))),)

    return {
        "SUM(income)": [("tools.sum", one(tools.sum, "income"))],
        "AVG(income)": [("tools.mean", one(tools.mean, "income"))],
        "AVG(age)": [("tools.mean", one(tools.mean, "age"))],
        "VARIANCE(age)": [("tools.var", one(tools.var, "age"))],
        "MEDIAN(income)": [("tools.median", one(tools.median, "income"))],
    }

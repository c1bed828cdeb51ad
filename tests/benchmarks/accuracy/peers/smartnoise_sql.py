"""SmartNoise SQL over a data frame: each row a unit.

Its ε is that of each noisy sum, so it is asked for a share of the whole: over the noisy sums that a number is computed
from. By its own account a query without COUNT(*) costs one share more, for a count that isn't shown; that isn't held
against it.
"""

import pandas
import snsql


def answers(job):
    frame = pandas.read_csv(job["file"])
    columns = {
        "row_privacy": True,
        "rows": len(frame),
        "income": {"type": "float", "lower": 0.0, "upper": float(job["income"])},
        "age": {"type": "int", "lower": 0, "upper": job["age"]},
    }
    metadata = {"": {"people": {"people": columns}}}

    def of(numbers, sums):
        privacy = snsql.Privacy(epsilon=job["epsilon"] / sums, delta=1e-9)
        reader = snsql.from_df(frame, privacy=privacy, metadata=metadata)
        listed = ", ".join(f"{number} AS n{place}" for place, number in enumerate(numbers))
        sql = f"SELECT {listed} FROM people.people"
        return [(f"ε/{sums} for each noisy sum", lambda: reader.execute(sql)[1])]

    return {
        "COUNT(*)": of(["COUNT(*)"], 1),
        "SUM(income)": of(["SUM(income)"], 1),
        "AVG(income)": of(["AVG(income)"], 2),
        "AVG(age)": of(["AVG(age)"], 2),
        "VARIANCE(age)": of(["VARIANCE(age)"], 3),
        "COUNT(*), AVG(income), AVG(age)": of(["COUNT(*)", "AVG(income)", "AVG(age)"], 5),
        "COUNT(*), SUM(income), AVG(income), AVG(age)": of(["COUNT(*)", "SUM(income)", "AVG(income)", "AVG(age)"], 5),
    }

"""Runs in another library's environment, from any Python 3.8 on: reads a job as JSON, prints the answers as JSON.

A script's `answers(job)` gives, for a query, its ways: each a text that says how, and a function without arguments that
makes one fresh release and returns its numbers. What is printed last has an object for each way: the query, how it was
answered, the numbers of all its releases, and why it failed, if it did.
"""

import json
import runpy
import sys
import time


def numbers(answer, most, seconds):
    """The numbers of so many releases, fewer where they take longer than that."""
    found = []
    end = time.monotonic() + seconds
    while len(found) < most and time.monotonic() < end:
        found.append([float(value) for value in answer()])
    return found


def main():
    job = json.load(sys.stdin)
    ways = runpy.run_path(job["script"])["answers"](job)
    found = []
    for query in job["queries"]:
        for how, answer in ways.get(query, ()):
            values, failed = [], ""
            try:
                values = numbers(answer, job["answers"], job["seconds"])
            except Exception as error:  # noqa: BLE001 - whatever a library raises, others are to be asked
                failed = f"{type(error).__name__}: {error}"
            found.append({"query": query, "how": how, "values": values, "failed": failed})
    print()
    print(json.dumps(found))


if __name__ == "__main__":
    main()

"""`dpsql query`: one answer, charged."""

from __future__ import annotations

import argparse

from dpsql.cli.answer import answer, cost, selection_note
from dpsql.cli.arguments import analyst, parameters, statement
from dpsql.cli.errors import OK
from dpsql.cli.output import Output, say
from dpsql.display import error_note
from dpsql.policy import load
from dpsql.session import open_session


def query(arguments: argparse.Namespace) -> int:
    """Answer the query. What can fail for free does so before the charge: files, policy, output."""
    arguments.sql = statement(arguments.sql, arguments.file)
    given = parameters(arguments.parameters)
    with Output(arguments.output) as output:
        session = open_session(load(arguments.config))
        asker = analyst(arguments.analyst)
        try:
            if arguments.format == "table":
                explained = session.plan(arguments.sql, given, epsilon=arguments.epsilon).explain
                if explained is not None:
                    plan = session.explain(
                        arguments.sql, given, epsilon=arguments.epsilon, analyst=asker, form=explained
                    )
                    output.write(f"{plan}\n")
                    return OK
            result = session.execute(
                arguments.sql, given, epsilon=arguments.epsilon, level=arguments.level, analyst=asker
            )
        finally:
            session.close()
        text = answer(result, arguments.format, output.style, half_widths=arguments.half_widths)
        meaning = error_note(result) if arguments.format in ("table", "markdown") else ""
        note = "; ".join(filter(None, (cost(result.privacy), meaning, selection_note(result)))) + "\n"
        under_table = arguments.format == "table" and output.is_stdout
        try:
            output.write(text + note if under_table else text)
        finally:
            if not under_table:
                say(note)
    return OK

"""`dpsql query`: one answer, charged."""

from __future__ import annotations

import argparse
from contextlib import nullcontext
from pathlib import Path

from dpsql.cli.answer import answer, cost, selection_note
from dpsql.cli.arguments import analyst, parameters, statement
from dpsql.cli.errors import OK, Usage
from dpsql.cli.output import Output, say
from dpsql.display import error_note, rank_notes, unknown_note
from dpsql.errors import NotSupportedError
from dpsql.plot import PlotFile, converter, plot, roles
from dpsql.policy import load
from dpsql.session import Compiled, open_session


def query(arguments: argparse.Namespace) -> int:
    """Answer the query. What can fail for free does so before the charge: files, policy, output, plot."""
    arguments.sql = statement(arguments.sql, arguments.file)
    given = parameters(arguments.parameters)
    drawing = nullcontext() if arguments.plot is None else _plot_file(arguments.plot, arguments.output)
    with drawing as plot_file, Output(arguments.output) as output:
        session = open_session(load(arguments.config))
        asker = analyst(arguments.analyst)
        try:
            if arguments.format == "table" and plot_file is None:
                explained = session.plan(arguments.sql, given, epsilon=arguments.epsilon).explain
                if explained is not None:
                    plan = session.explain(
                        arguments.sql,
                        given,
                        epsilon=arguments.epsilon,
                        level=arguments.level,
                        analyst=asker,
                        form=explained,
                    )
                    output.write(f"{plan}\n")
                    return OK
            if plot_file is not None:
                _check_drawable(session.plan(arguments.sql, given, epsilon=arguments.epsilon))
            result = session.execute(
                arguments.sql, given, epsilon=arguments.epsilon, level=arguments.level, analyst=asker
            )
        finally:
            session.close()
        text = answer(result, arguments.format, output.style, half_widths=arguments.half_widths)
        for_people = arguments.format in ("table", "markdown")
        meaning, unknown = (error_note(result), unknown_note(result)) if for_people else ("", "")
        note = "; ".join(filter(None, (cost(result.privacy), meaning, selection_note(result)))) + "\n"
        note += "".join(f"{remark}\n" for remark in (*rank_notes(result), unknown) if remark)
        under_table = arguments.format == "table" and output.is_stdout
        try:
            output.write(text + note if under_table else text)
        finally:
            if not under_table:
                say(note)
            if plot_file is not None:
                plot_file.write(plot(result).encoded(plot_file.suffix))
    return OK


def _plot_file(path: str, output: str | None) -> PlotFile:
    """Where the plot goes. Raises InterfaceError where it can't be drawn or written, Usage."""
    converter()
    if output not in (None, "-") and Path(str(output)).resolve() == Path(path).resolve():
        raise Usage("-o and --plot name the same file", "name two")
    return PlotFile(path)


def _check_drawable(compiled: Compiled) -> None:
    """Refuse, before the charge, what has no plot."""
    if compiled.explain is not None:
        raise NotSupportedError("an EXPLAIN has nothing to draw", hint="leave --plot away, or EXPLAIN")
    roles(compiled.columns)

"""SUM(x)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy.typing as npt
from sqlglot import exp

from dpsql.aggregates.aggregate import Aggregate, Basis, CallShape, Grid, Law, Noisy, Way, one_argument
from dpsql.aggregates.numbers import (
    as_double,
    bernstein_sum,
    centred_sum,
    endpoint_sum,
    whole_half_width,
    whole_number,
)
from dpsql.expressions import Compiler, Typed, refuse, show
from dpsql.expressions.numbers import as_number, unbounded_error
from dpsql.policy import Kind
from dpsql.privacy.interval import laplace_half_width

LARGEST_BOUND = Fraction(2) ** 900


def _read(node: exp.Expr) -> CallShape:
    return one_argument(node, "sum", "SUM")


def bounded_number(compiler: Compiler, node: exp.Expr, typed: Typed, name: str, *, wanted: str = "a number") -> Typed:
    """A numeric argument with finite bounds, or a refusal that says how to give them."""
    typed = as_number(typed)
    if not typed.set.numeric:
        hint = f"count instead: COUNT({show(node)})"
        if typed.kind in (Kind.DATE, Kind.TIMESTAMP):
            hint = f"use the days since a date: {name}(DATE_DIFF('day', DATE '2020-01-01', {show(node)}))"
        raise refuse(node, f"{name}({show(node)}) needs {wanted}, not {typed.kind.value}", hint)
    if not typed.set.bounds.bounded:
        raise unbounded_error(compiler, node, f"{name}({show(node)}) needs bounds")
    if typed.set.bounds.magnitude > LARGEST_BOUND:
        raise unbounded_error(compiler, node, f"{name}({show(node)}) needs bounds within ±1e270")
    return typed


def _accept(compiler: Compiler, node: exp.Expr, typed: Typed) -> Typed:
    return bounded_number(compiler, node, typed, "SUM")


def _is_integer(argument: Typed | None) -> bool:
    return argument is not None and argument.kind is Kind.INTEGER


def _direct(integer: bool) -> Way:
    def combine(noisy: Noisy, grid: Grid) -> npt.NDArray[Any]:
        return _number(noisy["sum"], grid.fine, grid, integer)

    def half_width(law: Law, grid: Grid, level: float) -> float:
        if law.is_single:
            return float(laplace_half_width(law.scale * grid.magnitude, level) * grid.grain)
        width = law.half_width([float(grid.grain * grid.magnitude)], level)
        return whole_half_width(width, law) if integer else width

    return Way(Basis.SUM, 2.0, combine, half_width)


def _number(total: npt.NDArray[Any], unit: int, grid: Grid, integer: bool) -> npt.NDArray[Any]:
    """The sums that are total / unit in grains, an integer's rounded to whole ones."""
    if not integer:
        return as_double(total, grid.grain / unit)
    return whole_number(total if grid.grain == 1 else total.astype(object) * int(grid.grain), unit, grid)


def _from_endpoints(basis: Basis, integer: bool, grid: Grid) -> Way:
    def combine(noisy: Noisy, grid: Grid) -> npt.NDArray[Any]:
        return _number(endpoint_sum(noisy, grid), grid.cells * grid.fine, grid, integer)

    def half_width(law: Law, grid: Grid, level: float) -> float:
        width = law.half_width([float(grid.lower), float(grid.upper)], level)
        return whole_half_width(width, law) if integer else width

    low, high = _relative(grid)
    return Way(basis, 2 * (low * low + high * high), combine, half_width)


def _from_bernstein(basis: Basis, integer: bool, grid: Grid) -> Way:
    def combine(noisy: Noisy, grid: Grid) -> npt.NDArray[Any]:
        return _number(bernstein_sum(noisy, grid), 2 * grid.cells**2 * grid.fine, grid, integer)

    def half_width(law: Law, grid: Grid, level: float) -> float:
        lower, upper = float(grid.lower), float(grid.upper)
        width = law.half_width([lower, lower / 2 + upper / 2, upper], level)
        return whole_half_width(width, law) if integer else width

    low, high = _relative(grid)
    return Way(basis, 2 * (low * low + (low / 2 + high / 2) ** 2 + high * high), combine, half_width)


def _from_centre(basis: Basis, integer: bool, grid: Grid, *, nulls: bool) -> Way:
    """(L + U)/2 times the rows with a value, and (U − L)/2 times the centre."""

    def combine(noisy: Noisy, grid: Grid) -> npt.NDArray[Any]:
        return _number(*centred_sum(noisy, grid), grid, integer)

    def half_width(law: Law, grid: Grid, level: float) -> float:
        middle, half = float((grid.lower + grid.upper) / 2), float((grid.upper - grid.lower) / 2)
        own = [half, middle / 2] if nulls else [half]
        width = law.half_width(own, level, count=middle / 2 if nulls else middle)
        return whole_half_width(width, law, half) if integer else width

    low, high = _relative(grid)
    middle, half = ((high + low) / 2) ** 2, ((high - low) / 2) ** 2
    if nulls:
        return Way(basis, 2 * half + middle / 2, combine, half_width, of_count=middle / 4)
    return Way(basis, 2 * half, combine, half_width, of_count=middle)


def _relative(grid: Grid) -> tuple[float, float]:
    """The bounds in units of the larger one."""
    unit = grid.magnitude or 1
    return float(Fraction(grid.low_steps, unit)), float(Fraction(grid.high_steps, unit))


def _constant(integer: bool) -> Way:
    """All values are the lower bound: the sum is that many times the count."""

    def combine(noisy: Noisy, grid: Grid) -> npt.NDArray[Any]:
        if integer:
            return whole_number(noisy["present"].astype(object) * int(grid.lower), grid.fine, grid)
        return as_double(noisy["present"], grid.lower / grid.fine)

    def half_width(law: Law, grid: Grid, level: float) -> float:
        if law.is_single:
            return float(laplace_half_width(law.scale, level) * abs(grid.lower))
        width = law.half_width([1.0], level) * float(abs(grid.lower))
        return whole_half_width(width, law) if integer else width

    return Way(Basis.PRESENT, 2.0, combine, half_width)


def _ways(argument: Typed | None, grid: Grid) -> tuple[Way, ...]:
    integer = _is_integer(argument)
    if not grid.cells:
        return (_constant(integer),)
    return (
        _direct(integer),
        _from_endpoints(Basis.ENDPOINTS, integer, grid),
        _from_endpoints(Basis.ENDPOINTS_AND_NULLS, integer, grid),
        _from_bernstein(Basis.BERNSTEIN, integer, grid),
        _from_bernstein(Basis.BERNSTEIN_AND_NULLS, integer, grid),
        *(_from_centre(basis, integer, grid, nulls=False) for basis in (Basis.CENTRE, Basis.MOMENTS)),
        *(
            _from_centre(basis, integer, grid, nulls=True)
            for basis in (Basis.CENTRE_AND_NULLS, Basis.MOMENTS_AND_NULLS)
        ),
    )


AGGREGATE = Aggregate("sum", (exp.Sum,), _read, _accept, _ways, lambda a: "BIGINT" if _is_integer(a) else "DOUBLE")

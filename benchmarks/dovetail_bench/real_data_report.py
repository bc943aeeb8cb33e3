"""Results of `real_data` as tables: orders and estimates of each engine, the targets, misses by name, all queries."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dovetail_bench.accuracy import EstimatePair, Summary, geometric_mean, summary
from dovetail_bench.report import Page, target

# Targets for q-errors on any data, once Dovetail has collected its statistics: over all sub-plans, and over joins
# alone, which is harder.
MAX_MEDIAN = 1.5
MAX_P95 = 12.0
MAX_UNDER = 0.4

# A query whose C_out exceeds the best one by more than this factor is listed as a miss.
MISS = 1.5

# Number of worst estimates listed by name: enough to see a pattern.
WORST = 20

PERCENT = 100.0
DOVETAIL_ENGINES = ("dovetail", "dovetail_bare", "dovetail_true")
KINDS: Mapping[str, Callable[[EstimatePair], bool]] = {
    "all": lambda e: True,
    "base tables": lambda e: e.joins == 0,
    "joins": lambda e: e.joins > 0,
}


@dataclass
class Measurement:
    """Measurements of one engine over all queries.

    Attributes:
        title: Title in the tables.
        version: Version of the engine.
        collect_seconds: Time to collect statistics, and to load the tables into an engine that has its own storage.
        orders: Query → order that the engine picked.
        couts: Query → C_out of that order.
        estimates: All estimates of the engine; sub-plans that it cannot estimate are missing.
        unknown: Number of sub-plans that the engine cannot estimate.
        failures: Query → error.
    """

    title: str
    version: str = ""
    collect_seconds: float = 0.0
    orders: dict[str, str] = field(default_factory=dict)
    couts: dict[str, float] = field(default_factory=dict)
    estimates: list[EstimatePair] = field(default_factory=list)
    unknown: int = 0
    failures: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Results:
    """Results of all engines.

    Attributes:
        best: Query → C_out of its best order.
        relations: Query → number of its relations.
        engines: Name of an engine → its measurements.
    """

    best: Mapping[str, float]
    relations: Mapping[str, int]
    engines: Mapping[str, Measurement]

    def ratios(self, engine: str) -> dict[str, float]:
        """Query → C_out over the best. No rows count as one row."""
        return {q: max(c, 1.0) / max(self.best[q], 1.0) for q, c in self.engines[engine].couts.items()}


def targets(results: Results, max_ratios: Mapping[str, float]) -> list[dict[str, Any]]:
    """Targets, and whether each is hit. Ratios are targets only if `max_ratios` asks for them."""
    found = []
    for name, limit in max_ratios.items():
        ratios = results.ratios(name)
        mean = geometric_mean(list(ratios.values())) if ratios else None
        hit = mean is not None and mean <= limit and not results.engines[name].failures
        found.append(
            target(f"geometric mean of C_out / best at most {limit}", mean, hit, engine=results.engines[name].title)
        )
    if "dovetail" in results.engines:
        found += [t for kind in ("all", "joins") for t in _estimate_targets(results.engines["dovetail"], kind)]
    return found


def _estimate_targets(measured: Measurement, kind: str) -> list[dict[str, Any]]:
    chosen = [e for e in measured.estimates if KINDS[kind](e)]
    if not chosen:
        return []
    s = summary(chosen)
    complete = not measured.failures and not measured.unknown
    under = f"{s.under * PERCENT:.0f} %"
    judged = [
        (f"median q-error at most {MAX_MEDIAN}", s.median, s.median <= MAX_MEDIAN),
        (f"95th percentile of q-errors at most {MAX_P95}", s.p95, s.p95 <= MAX_P95),
        (f"underestimates below {MAX_UNDER * PERCENT:.0f} %", under, s.under < MAX_UNDER),
    ]
    return [target(f"{kind}: {text}", value, complete and hit, engine=measured.title) for text, value, hit in judged]


def write_page(page: Page, results: Results, max_ratios: Mapping[str, float]) -> None:
    """Fills the page."""
    page.text(
        "C_out: true rows out of all joins of the order that an engine picks, the last join included. Best: the least "
        "of all bushy orders without cross products. q-error: the factor by which an estimate of a sub-plan is off. "
        "Queries are planned, not run."
    )
    page.table("Join orders", [_orders(results, name) for name in results.engines])
    page.table("Estimates", [line for name in results.engines for line in _estimates(results.engines[name])])
    page.targets(targets(results, max_ratios))
    for name in results.engines:
        if name in DOVETAIL_ENGINES:
            page.table(f"Misses of {results.engines[name].title}: over {MISS}x the best", misses(results, name))
            page.table(f"Worst estimates of {results.engines[name].title}", worst(results.engines[name].estimates))
    failures = [
        {"engine": m.title, "query": q, "error": e} for m in results.engines.values() for q, e in m.failures.items()
    ]
    page.table("Failures", failures)
    page.table("All queries: C_out / best", [_query(results, query) for query in results.best])


def misses(results: Results, engine: str) -> list[dict[str, Any]]:
    """Queries whose order is far from the best one, the worst first."""
    measured = results.engines[engine]
    far = sorted(((r, q) for q, r in results.ratios(engine).items() if r > MISS), reverse=True)
    return [
        {
            "query": q,
            "C_out / best": r,
            "C_out": int(measured.couts[q]),
            "best": int(results.best[q]),
            "order": measured.orders[q],
        }
        for r, q in far
    ]


def worst(estimates: Sequence[EstimatePair]) -> list[dict[str, Any]]:
    """Estimates with the largest q-errors."""
    return [
        {
            "query": e.query,
            "relations": e.relations.replace(",", ", "),
            "estimate": e.value,
            "true": e.true,
            "q-error": e.q_error,
        }
        for e in sorted(estimates, key=lambda e: -e.q_error)[:WORST]
    ]


def _orders(results: Results, engine: str) -> dict[str, Any]:
    measured, ratios = results.engines[engine], results.ratios(engine)
    line: dict[str, Any] = {"engine": measured.title, "version": measured.version, "queries": len(ratios)}
    if ratios:
        last = max(ratios, key=lambda q: ratios[q])
        line |= {
            "geometric mean": geometric_mean(list(ratios.values())),
            "worst": ratios[last],
            "worst query": last,
            f"over {MISS}x": sum(r > MISS for r in ratios.values()),
        }
    return line | {"failed": len(measured.failures), "statistics s": measured.collect_seconds}


def _estimates(measured: Measurement) -> list[dict[str, Any]]:
    lines = []
    for kind, chosen in KINDS.items():
        estimates = [e for e in measured.estimates if chosen(e)]
        if estimates:
            lines.append({"engine": measured.title, "of": kind} | _summary(summary(estimates)))
    return lines


def _summary(s: Summary) -> dict[str, Any]:
    return {
        "sub-plans": s.number,
        "median q-error": s.median,
        "95th percentile": s.p95,
        "max": s.worst,
        "underestimates": f"{s.under * PERCENT:.0f} %",
    }


def _query(results: Results, query: str) -> dict[str, Any]:
    line: dict[str, Any] = {
        "query": query,
        "relations": results.relations[query],
        "best C_out": int(results.best[query]),
    }
    return line | {m.title: results.ratios(name).get(query) for name, m in results.engines.items()}

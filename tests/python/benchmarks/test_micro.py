"""JMH's results as rows and targets."""

from __future__ import annotations

import pytest

from dovetail_bench import micro

pytestmark = pytest.mark.primary


def run(shape: str, score: float) -> dict[str, object]:
    metric = {"score": score, "scoreError": 0.5, "scoreUnit": "ms/op"}
    return {"benchmark": "dovetail.bench.SearchBenchmark.search", "params": {"shape": shape}, "primaryMetric": metric}


def test_rows_and_targets() -> None:
    found = list(micro.rows([run("clique12", 59.0), run("star16", 61.0), run("cycle12", 1000.0)]))
    assert found[0] == {
        "benchmark": "search",
        "shape": "clique12",
        "unit": "ms/op",
        "score": 59.0,
        "± (99.9 %)": 0.5,
    }
    # a cycle of 12 has no target
    assert [target["hit"] for target in micro.targets(found)] == [True, False]


def test_sketches_have_no_targets() -> None:
    sketch = {**run("", 3.0), "benchmark": "dovetail.bench.SketchBenchmark.sampleOurs", "params": {"distinct": "300"}}
    assert micro.targets(list(micro.rows([sketch]))) == []

"""Prints `stats` commands for golden files (tests/golden), with Spark's ANALYZE statistics of tables of Parquet files.

    python tools/golden_statistics.py DIRECTORY [--bins 8] [--columns FILE]

Each directory and each *.parquet file in DIRECTORY is a table. With `--columns`, only columns whose names are words in
that file are listed, which keeps golden files small. Spark has no bounds of strings.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import SparkSession

_BIN = re.compile(r"lower_bound: (\S+), upper_bound: (\S+), distinct_count: (\d+)")

NAMES = {"min": "min", "max": "max", "num_nulls": "nulls", "distinct_count": "ndv", "avg_col_len": "len"}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--bins", type=int, default=0, help="buckets of histograms; 0 for none")
    parser.add_argument("--columns", type=Path, help="a text in which the wanted columns are named")
    options = parser.parse_args()
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.statistics.histogram.enabled", str(options.bins > 0).lower())
        .config("spark.sql.statistics.histogram.numBins", str(max(options.bins, 2)))
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    wanted = set(re.findall(r"\w+", options.columns.read_text())) if options.columns else None
    for path in sorted(p for p in options.directory.iterdir() if p.is_dir() or p.suffix == ".parquet"):
        print("\n".join(declared(spark, path, wanted)), end="\n----\n\n")
    spark.stop()


def declared(spark: SparkSession, path: Path, wanted: set[str] | None) -> Iterator[str]:
    """The lines of one `stats` command, beginning with the command itself."""
    name = path.name.removesuffix(".parquet")
    spark.sql(f"CREATE TABLE {name} USING parquet LOCATION '{path.absolute()}'")
    spark.sql(f"ANALYZE TABLE {name} COMPUTE STATISTICS FOR ALL COLUMNS")
    size = next(
        row.data_type for row in spark.sql(f"DESCRIBE EXTENDED {name}").collect() if row.col_name == "Statistics"
    )
    size_bytes, rows = re.findall(r"\d+", size)
    yield "stats"
    yield f"{name} rows={rows} size={size_bytes}"
    for field in spark.table(name).schema.fields:
        if wanted is None or field.name in wanted:
            described = spark.sql(f"DESCRIBE EXTENDED {name} `{field.name}`").collect()
            yield " ".join([f"  {field.name} {field.dataType.simpleString()}", *words(described)])
    spark.sql(f"DROP TABLE {name}")


def words(described: list) -> Iterator[str]:  # type: ignore[type-arg]
    """The statistics of a column, as words of a golden file."""
    of = {row.info_name: row.info_value for row in described}
    for key, word in NAMES.items():
        value = of.get(key, "NULL")
        text = word == "len" and of["data_type"] not in ("string", "binary")
        if value != "NULL" and not text and not re.search(r"\s", value) and (word, value) != ("nulls", "0"):
            yield f"{word}={value}"
    bins = [_BIN.match(row.info_value) for row in described if row.info_name.startswith("bin_")]
    if bins:
        yield "hist=" + ",".join(":".join(number(n) for n in found.groups()) for found in bins if found)


def number(text: str) -> str:
    """The number without the `.0` of whole numbers."""
    return re.sub(r"\.0$", "", text)


if __name__ == "__main__":
    main()

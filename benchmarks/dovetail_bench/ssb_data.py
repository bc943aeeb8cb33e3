"""Tables of the Star Schema Benchmark, which DuckDB makes from TPC-H's as the benchmark defines them.

O'Neil, O'Neil, Chen and Revilak, "The Star Schema Benchmark and Augmented Fact Table Indexing", TPCTC 2009: line items
and orders become one fact table, prices are in cents, nation and region become columns of customers and suppliers, and
there is a table of days. There are 30,000 customers and 2,000 suppliers per scale factor, and 200,000 * (1 + log2(scale
factor)) parts. The benchmark draws cities and brands at random; here they are the remainder of the key, so that the
data is the same in every run.
"""

from __future__ import annotations

import math
from pathlib import Path

from dovetail.demo.data import Dataset, cached, dataset, import_duckdb, write_table
from dovetail_bench.progress import say
from dovetail_bench.queries import SSB
from dovetail_bench.tables import files

# Numbers of rows per scale factor.
CUSTOMERS, SUPPLIERS, PARTS = 30_000, 2_000, 200_000

# A city is the first nine letters of its nation, and a digit.
_CITY = "rpad(substr(n_name, 1, 9), 9, ' ') || {key} % 10"

# Number of brands of a category; they are numbered from 1.
_BRANDS = 40


def ssb_dataset(scale: float, root: Path | None = None) -> Dataset:
    """The data set of a scale. It is made if it does not exist yet."""
    return cached(SSB, scale, root, lambda made, _: _make(dataset("tpch", scale, root), made))


def _make(source: Dataset, directory: Path) -> dict[str, int]:
    say(f"making {SSB} of {source.directory}")
    with import_duckdb().connect() as connection:
        for table in source.tables:
            connection.execute(f"CREATE VIEW tpch_{table} AS FROM {files(source.location(table))}")
        return {t: write_table(connection, f"({q})", directory / t) for t, q in _queries(source.scale).items()}


def _queries(scale: float) -> dict[str, str]:
    """Table → query for its rows."""
    customers, suppliers = (max(1, int(n * scale)) for n in (CUSTOMERS, SUPPLIERS))
    # below scale 1, TPC-H has fewer parts
    parts = int(PARTS * (scale if scale < 1 else 1 + math.log2(scale)))
    places = "JOIN tpch_nation ON n_nationkey = {0}_nationkey JOIN tpch_region ON r_regionkey = n_regionkey"
    return {
        "lineorder": f"""
            SELECT l_orderkey::INT AS lo_orderkey, l_linenumber::INT AS lo_linenumber,
              ((o_custkey - 1) % {customers} + 1)::INT AS lo_custkey,
              ((l_partkey - 1) % {parts} + 1)::INT AS lo_partkey,
              ((l_suppkey - 1) % {suppliers} + 1)::INT AS lo_suppkey,
              strftime(o_orderdate, '%Y%m%d')::INT AS lo_orderdate,
              o_orderpriority AS lo_orderpriority, '0' AS lo_shippriority, l_quantity::INT AS lo_quantity,
              (l_extendedprice * 100)::BIGINT AS lo_extendedprice, (o_totalprice * 100)::BIGINT AS lo_ordtotalprice,
              (l_discount * 100)::INT AS lo_discount,
              (l_extendedprice * 100 * (1 - l_discount))::BIGINT AS lo_revenue,
              (l_extendedprice * 100 * 0.6 / l_quantity)::BIGINT AS lo_supplycost, (l_tax * 100)::INT AS lo_tax,
              strftime(l_commitdate, '%Y%m%d')::INT AS lo_commitdate, l_shipmode AS lo_shipmode
            FROM tpch_lineitem JOIN tpch_orders ON o_orderkey = l_orderkey""",
        "customer": f"""
            SELECT c_custkey::INT AS c_custkey, c_name, c_address, {_CITY.format(key="c_custkey")} AS c_city,
              n_name AS c_nation, r_name AS c_region, c_phone, c_mktsegment
            FROM tpch_customer {places.format("c")} WHERE c_custkey <= {customers}""",
        "supplier": f"""
            SELECT s_suppkey::INT AS s_suppkey, s_name, s_address, {_CITY.format(key="s_suppkey")} AS s_city,
              n_name AS s_nation, r_name AS s_region, s_phone
            FROM tpch_supplier {places.format("s")} WHERE s_suppkey <= {suppliers}""",
        "part": f"""
            SELECT p_partkey::INT AS p_partkey, p_name, 'MFGR#' || substr(p_brand, 7, 1) AS p_mfgr,
              'MFGR#' || substr(p_brand, 7, 2) AS p_category,
              'MFGR#' || substr(p_brand, 7, 2) || (p_partkey % {_BRANDS} + 1) AS p_brand1,
              split_part(p_name, ' ', 1) AS p_color, p_type, p_size::INT AS p_size, p_container
            FROM tpch_part WHERE p_partkey <= {parts}""",
        "date": """
            SELECT strftime(day, '%Y%m%d')::INT AS d_datekey, strftime(day, '%B %-d, %Y') AS d_date,
              dayname(day) AS d_dayofweek, monthname(day) AS d_month, year(day)::INT AS d_year,
              strftime(day, '%Y%m')::INT AS d_yearmonthnum, strftime(day, '%b%Y') AS d_yearmonth,
              (dayofweek(day) + 1)::INT AS d_daynuminweek, dayofmonth(day)::INT AS d_daynuminmonth,
              dayofyear(day)::INT AS d_daynuminyear, month(day)::INT AS d_monthnuminyear,
              ((dayofyear(day) - 1) // 7 + 1)::INT AS d_weeknuminyear
            FROM (SELECT unnest(range(DATE '1992-01-01', DATE '1999-01-01', INTERVAL 1 DAY)) AS day)""",
    }

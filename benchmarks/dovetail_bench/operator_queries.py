"""Queries of `operator_gains`: TPC-DS queries that gain only if an outer, semi or anti join moves.

In each query, a selective join is written above a join that is not inner, or the other way around. q72 comes from
Spark's texts, with its LEFT JOINs where they are written (late) and moved to the beginning (early). The other queries
were written for this benchmark.
"""

from __future__ import annotations

import re
from pathlib import Path

from dovetail.errors import DovetailError
from dovetail_bench.queries import Query, load

SUITE = "operators"

_LEFT_JOIN = re.compile(r"\s+LEFT OUTER JOIN \w+ ON \([^()]*\)")
_FIRST_TABLE = "FROM catalog_sales"

_OWN = {
    "exists over a selective dimension": """
SELECT count(*), sum(ss_ext_sales_price), count(DISTINCT c_current_addr_sk)
FROM store_sales
  JOIN customer ON c_customer_sk = ss_customer_sk
  JOIN customer_demographics ON cd_demo_sk = c_current_cdemo_sk
  JOIN item ON i_item_sk = ss_item_sk
WHERE EXISTS (SELECT 1 FROM date_dim WHERE d_date_sk = ss_sold_date_sk AND d_date = DATE '2000-12-23')""",
    "not exists over a selective dimension": """
SELECT i_category, count(*), sum(ws_net_profit)
FROM web_sales
  JOIN customer ON c_customer_sk = ws_bill_customer_sk
  JOIN customer_address ON ca_address_sk = c_current_addr_sk
  JOIN item ON i_item_sk = ws_item_sk
WHERE NOT EXISTS (SELECT 1 FROM date_dim WHERE d_date_sk = ws_sold_date_sk AND (d_year < 2002 OR d_moy < 12))
GROUP BY i_category""",
    "exists over a dimension's dimension, last": """
SELECT i_category, count(*), sum(ss_net_profit)
FROM store_sales
  JOIN item ON i_item_sk = ss_item_sk
  JOIN store ON s_store_sk = ss_store_sk
  JOIN customer ON c_customer_sk = ss_customer_sk
WHERE EXISTS (SELECT 1 FROM customer_address WHERE ca_address_sk = c_current_addr_sk AND ca_zip LIKE '8501%')
GROUP BY i_category""",
    "not exists over a dimension's dimension, last": """
SELECT i_category, count(*), sum(ss_net_profit)
FROM store_sales
  JOIN item ON i_item_sk = ss_item_sk
  JOIN store ON s_store_sk = ss_store_sk
  JOIN customer ON c_customer_sk = ss_customer_sk
WHERE NOT EXISTS (
    SELECT 1 FROM household_demographics
    WHERE hd_demo_sk = c_current_hdemo_sk AND (hd_income_band_sk <> 5 OR hd_dep_count > 0))
GROUP BY i_category""",
    "a chain of outer joins, the filter last": """
SELECT s_store_name, count(*), count(sr_item_sk), count(r_reason_sk), count(p_promo_sk)
FROM store_sales
  LEFT JOIN store_returns ON sr_item_sk = ss_item_sk AND sr_ticket_number = ss_ticket_number
  LEFT JOIN reason ON r_reason_sk = sr_reason_sk
  LEFT JOIN promotion ON p_promo_sk = ss_promo_sk
  JOIN store ON s_store_sk = ss_store_sk
  JOIN date_dim ON d_date_sk = ss_sold_date_sk
WHERE d_year = 2000 AND d_moy = 11 AND d_dom = 24
GROUP BY s_store_name""",
    "a full outer join below selective dimensions": """
SELECT i_brand, count(*), count(cr_item_sk), sum(cs_net_paid)
FROM catalog_sales
  FULL JOIN catalog_returns ON cr_item_sk = cs_item_sk AND cr_order_number = cs_order_number
  JOIN item ON i_item_sk = cs_item_sk
  JOIN date_dim ON d_date_sk = cs_sold_date_sk
WHERE d_year = 2001 AND d_moy = 12 AND i_manager_id = 7
GROUP BY i_brand""",
    "existence under OR, the filter last": """
SELECT ca_state, count(*), sum(c_birth_year)
FROM customer
  JOIN customer_address ON ca_address_sk = c_current_addr_sk
  JOIN customer_demographics ON cd_demo_sk = c_current_cdemo_sk
  JOIN household_demographics ON hd_demo_sk = c_current_hdemo_sk
  JOIN income_band ON ib_income_band_sk = hd_income_band_sk
WHERE (EXISTS (SELECT 1 FROM web_sales WHERE ws_bill_customer_sk = c_customer_sk)
    OR EXISTS (SELECT 1 FROM catalog_sales WHERE cs_ship_customer_sk = c_customer_sk))
  AND ib_lower_bound = 30001 AND hd_dep_count = 4
GROUP BY ca_state""",
    "an anti join early, the filter last": """
SELECT i_category, count(*), sum(ss_quantity)
FROM store_sales
  LEFT ANTI JOIN store_returns ON sr_item_sk = ss_item_sk AND sr_ticket_number = ss_ticket_number
  JOIN customer ON c_customer_sk = ss_customer_sk
  JOIN item ON i_item_sk = ss_item_sk
  JOIN date_dim ON d_date_sk = ss_sold_date_sk
WHERE d_date BETWEEN DATE '2001-05-01' AND DATE '2001-05-02'
GROUP BY i_category""",
    "a semi join with a selective join late": """
SELECT i_class, count(*), avg(ss_sales_price)
FROM store_sales
  JOIN customer ON c_customer_sk = ss_customer_sk
  JOIN household_demographics ON hd_demo_sk = ss_hdemo_sk
  JOIN item ON i_item_sk = ss_item_sk
WHERE ss_item_sk IN (
    SELECT inv_item_sk FROM inventory JOIN warehouse ON w_warehouse_sk = inv_warehouse_sk
      JOIN item i ON i.i_item_sk = inv_item_sk JOIN date_dim ON d_date_sk = inv_date_sk
    WHERE i.i_manufact_id BETWEEN 120 AND 124 AND d_year = 2001 AND d_moy = 4)
GROUP BY i_class""",
}


def operator_queries(cache: Path | None = None) -> list[Query]:
    """q72 twice, then the queries written for this benchmark."""
    late = load("tpcds", ["q72"], cache)[0].text
    own = [Query(SUITE, name, text.strip()) for name, text in _OWN.items()]
    return [Query(SUITE, "q72, LEFT JOINs late", late), Query(SUITE, "q72, LEFT JOINs early", early(late)), *own]


def early(text: str) -> str:
    """q72 with its LEFT JOINs directly after the first table, because they need only the columns of that table."""
    clauses = _LEFT_JOIN.findall(text)
    if not clauses or text.count(_FIRST_TABLE) != 1:
        raise DovetailError(f"this is not q72 as Spark writes it: {len(clauses)} LEFT OUTER JOINs, no {_FIRST_TABLE}")
    return _LEFT_JOIN.sub("", text).replace(_FIRST_TABLE, _FIRST_TABLE + "".join(clauses))

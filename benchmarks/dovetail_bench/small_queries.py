"""Queries of one or two tables of TPC-DS, as dashboards send them: little for a join optimizer to do.

`optimizer_time --suite small` measures what Dovetail adds to their planning.
"""

from __future__ import annotations

from collections.abc import Iterable

from dovetail_bench.queries import Query, chosen

# Name of the suite.
SMALL = "small"

_TEXTS = {
    "count": "SELECT count(*) FROM store_sales",
    "filter": "SELECT ss_item_sk, ss_net_paid FROM store_sales WHERE ss_quantity > 90 AND ss_list_price < 10",
    "group": "SELECT ss_store_sk, sum(ss_net_paid) FROM store_sales GROUP BY ss_store_sk ORDER BY 1",
    "top": "SELECT c_last_name, c_birth_year FROM customer WHERE c_birth_country = 'CHILE' ORDER BY 2 LIMIT 10",
    "dimension": "SELECT i_brand, sum(ss_net_paid) FROM store_sales JOIN item ON ss_item_sk = i_item_sk "
    "WHERE i_category = 'Music' GROUP BY i_brand",
    "day": "SELECT sum(ss_net_paid) FROM store_sales JOIN date_dim ON ss_sold_date_sk = d_date_sk "
    "WHERE d_year = 2001 AND d_moy = 11",
    "facts": "SELECT count(*) FROM store_sales JOIN store_returns "
    "ON ss_ticket_number = sr_ticket_number AND ss_item_sk = sr_item_sk",
    "outer": "SELECT count(*) FROM customer LEFT JOIN customer_address ON c_current_addr_sk = ca_address_sk "
    "WHERE c_birth_year = 1970",
    "exists": "SELECT count(*) FROM customer WHERE EXISTS "
    "(SELECT 1 FROM web_sales WHERE ws_bill_customer_sk = c_customer_sk AND ws_quantity > 95)",
}


def load(names: Iterable[str] = ()) -> list[Query]:
    """All queries, or the named ones."""
    return chosen(SMALL, _TEXTS, names)

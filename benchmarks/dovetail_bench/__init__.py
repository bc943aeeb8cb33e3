"""Dovetail's benchmarks: plain Spark, Spark's own CBO and Dovetail in turns in one session, on generated data.

Commands, each `python -m dovetail_bench.<name>`:
  answers     every query gives the rows of plain Spark, and of DuckDB where asked for: the gate
  join_rows   rows out of joins, seconds, shuffled bytes, planning time, per query and mode
  planning    time of the join-order search on synthetic join graphs

The flow: queries (texts), dovetail.demo.data (tables) → session (modes) → metrics, rows, verdict → report (tables).
"""

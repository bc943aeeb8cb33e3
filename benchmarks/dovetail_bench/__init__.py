"""Dovetail's benchmarks: plain Spark, Spark's own CBO and Dovetail in turns in one session.

Commands, each `python -m dovetail_bench.<name>`:
  answers     every query gives the rows of plain Spark, and of DuckDB where asked for: the gate
  join_rows   rows out of joins, seconds, shuffled bytes, planning time, per query and mode
  times       seconds and shuffled bytes in rounds, in which every mode goes first equally often
  fuzz        generated queries give the rows of plain Spark and of DuckDB
  operator_gains  rows out of joins where outer, semi and anti joins move
  collection  what statistics cost to collect, against Spark's ANALYZE
  estimation  what estimates cost when a query is planned, and how far they are off
  planning    time of the join-order search on synthetic join graphs
  real_data   join orders and estimates on real data against the truth, with PostgreSQL and DuckDB beside
  true_sizes  makes the query files of real_data from SQL texts; nycflights13 writes an example's tables
  figures     writes the figures of README.md and docs from the results files

The flow: queries (texts), dovetail.demo.data (tables) → session (modes) → metrics, rows, verdict → report (tables),
which asks commit what is measured. Of times: rounds (which mode runs when), executed_plan → times_report. Of figures:
figures_data → figures (tables), figures_picture.
Generated queries: random_tables, random_queries → fuzz.
Of real data: join_query, query_file (texts, truth), tables → real_engines, postgresql_engine, duckdb_engine (orders,
estimates) → join_order, accuracy (C_out, q-errors) → real_data_report.
"""

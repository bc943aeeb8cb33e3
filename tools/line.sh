#!/usr/bin/env bash
# A field of project/spark-lines.tsv, the list of Spark lines.
#
#   tools/line.sh 4.1 pyspark      a field of one line, by the name of its column; nothing where it is "-"
#   tools/line.sh lines            all lines
#   tools/line.sh jars=pyspark     the lines with this value in this column
#   tools/line.sh 4.1 row          the suffix of sbt's projects of one line: Spark41, Spark352_12
set -euo pipefail
cd "$(dirname "$0")/.."
awk -F'\t' -v what="${1:?a line, \"lines\" or column=value}" -v field="${2:-line}" '
  NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; next }
  !NF { next }
  what == "lines" { print $1; found = 1; next }
  what ~ /=/ { split(what, is, "="); found = 1; if ($column[is[1]] == is[2]) print $1; next }
  $1 != what { next }
  field == "row" { gsub(/[.]/, "", $1); print "Spark" $1 ($column["scala"] ~ /^2[.]12/ ? "2_12" : ""); found = 1; next }
  field in column { if ($column[field] != "-") print $column[field]; found = 1 }
  END { if (!found) { print "dovetail: no Spark line or field " what " " field > "/dev/stderr"; exit 1 } }
' project/spark-lines.tsv

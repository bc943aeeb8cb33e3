#!/usr/bin/env bash
# A field of a Spark line in project/SparkLine.scala: tools/line.sh 4.1 pyspark|spark|scala
set -euo pipefail
cd "$(dirname "$0")/.."
row=$(sed -n "s/.*SparkLine(\"$1\", \"\([^\"]*\)\", \"\([^\"]*\)\", \"\([^\"]*\)\".*/\1 \2 \3/p" project/SparkLine.scala)
[ -n "$row" ] || { echo "dovetail: no Spark line $1 in project/SparkLine.scala" >&2; exit 1; }
read -r spark scala pyspark <<<"$row"
case "$2" in spark) echo "$spark" ;; scala) echo "$scala" ;; pyspark) echo "$pyspark" ;; *) echo "dovetail: no field $2" >&2; exit 1 ;; esac

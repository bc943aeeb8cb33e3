#!/usr/bin/env bash
# Prints values of project/lines.txt for the Makefile and scripts: `tools/line.sh names`, `tools/line.sh primary`, or a
# line and a column, as in `tools/line.sh 4.1 pyspark`. There is one more column than in the file, `project`: the suffix
# of the line's sbt projects.
set -euo pipefail
exec awk -v line="${1:?names, primary or a Spark line}" -v column="${2:-}" '
  function fail(text) { print "dovetail: " text " in project/lines.txt" > "/dev/stderr"; failed = 1; exit 1 }
  /^#/ || !NF { next }
  !header { header = 1; for (i = 1; i <= NF; i++) at[$i] = i; next }
  { names = names (names ? " " : "") $at["line"] }
  $at["suite"] == "whole" { primary = $at["line"] }
  $at["line"] == line {
    found = 1
    if (column == "project") {
      project = "Spark" line
      gsub(/\./, "", project)
      # sbt-projectmatrix appends the Scala version if it is not 2.13
      print project ($at["scala"] ~ /^2\.12/ ? "2_12" : "")
    } else if (!(column in at)) fail("no column " column)
    else if ($at[column] != "-") print $at[column]
  }
  END {
    if (failed) exit 1
    if (line == "names") print names
    else if (line == "primary") print primary
    else if (!found) fail("no Spark line " line)
  }' "$(dirname "$0")/../project/lines.txt"

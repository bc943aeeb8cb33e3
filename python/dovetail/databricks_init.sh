#!/usr/bin/env bash
# Dovetail's init script for a Databricks cluster: copies the jar to where the driver and the executors load jars from,
# before Spark starts. Made by `dovetail init-script --platform databricks`; DOVETAIL_ROOT is for trying it elsewhere.
#
# A cluster must not stay down because of an optimizer: when the jar is not there, this says so and lets it start.
set -uo pipefail

jar=@JAR@
volume=@VOLUME@
root=${DOVETAIL_ROOT:-}
target=$root/databricks/jars

without() {
  echo "dovetail: $1; the cluster starts without Dovetail" >&2
  exit 0
}

[ -d "$target" ] || without "no directory $target: is this a Databricks runtime?"
[ -r "$root$volume/$jar" ] || without "no readable file $root$volume/$jar: upload it, and let the cluster read the volume"

# one Dovetail on the class path, whatever an image or an older script left
rm -f "$target"/dovetail-spark-*.jar
cp "$root$volume/$jar" "$target/.$jar.part" && mv "$target/.$jar.part" "$target/$jar" || without "$jar could not be copied to $target"
echo "dovetail: $jar is in $target"

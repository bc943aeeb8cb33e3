#!/usr/bin/env bash
# Dovetail's init script for a Databricks cluster: copies the jar to where the driver and the executors load jars from,
# and sets spark.sql.extensions on the driver, before Spark starts. A second run changes nothing.
# Made by `dovetail init-script --platform databricks`. Two variables are for trying it elsewhere: with
# DOVETAIL_DRY_RUN=1 it says what it would do and does nothing, and DOVETAIL_ROOT is put before every path.
#
# If something is missing, the script prints a message, and the cluster starts without Dovetail.
set -uo pipefail

jar=@JAR@
volume=@VOLUME@
root=${DOVETAIL_ROOT:-}
jars=$root/databricks/jars
conf=$root/databricks/driver/conf
settings=$conf/00-dovetail.conf

say() { echo "dovetail: $1"; }

change() { # what is done, then the command
  local what=$1
  shift
  if [ -n "${DOVETAIL_DRY_RUN:-}" ]; then say "would do: $what"; return 0; fi
  "$@" && say "$what"
}

without() {
  [ ! -e "$settings" ] || change "removed $settings" rm -f "$settings"
  echo "dovetail: $1; the cluster starts without Dovetail" >&2
  exit 0
}

copy() { cp "$root$volume/$jar" "$jars/.$jar.part" && mv "$jars/.$jar.part" "$jars/$jar"; }

set_extension() { # read by the driver beside the cluster's own Spark configuration
  printf '%s\n' '[driver] {' '  "@KEY@" = "@VALUE@"' '}' >"$settings.part" && mv "$settings.part" "$settings"
}

[ -d "$jars" ] || without "no directory $jars: is this a Databricks runtime?"
[ -r "$root$volume/$jar" ] ||
  without "no readable file $root$volume/$jar: upload it, and let the cluster read the volume"

# one Dovetail on the class path, whatever an image or an older script left
for other in "$jars"/dovetail-spark-*.jar; do
  [ ! -e "$other" ] || [ "$other" = "$jars/$jar" ] || change "removed $other" rm -f "$other"
done
if cmp -s "$root$volume/$jar" "$jars/$jar"; then
  say "$jar is in $jars already"
else
  change "$jar copied to $jars" copy || without "$jar could not be copied to $jars"
fi

[ "${DB_IS_DRIVER:-TRUE}" = TRUE ] || exit 0
others=$(grep -ls '@KEY@' "$conf"/*.conf 2>/dev/null | grep -v '/00-dovetail.conf$')
if [ -n "$others" ]; then
  echo "dovetail: @KEY@ is set in $others: append ,@VALUE@ there" >&2
elif [ -d "$conf" ]; then
  change "@KEY@ set in $settings" set_extension || without "$settings could not be written"
else
  echo "dovetail: no directory $conf: set @KEY@ to @VALUE@ in the cluster's Spark configuration" >&2
fi

#!/usr/bin/env bash
# Measures the time that a new user needs from the clone to the first explained query, in a temporary directory; prints
# one line per step. Usage: tools/newcomer.sh [--demo SCALE] [repository]. Jars and wheels that Maven, sbt and pip have
# cached on this machine are not downloaded again.
set -euo pipefail
demo=""
if [ "${1:-}" = --demo ]; then demo=${2:?--demo takes a scale, such as 0.1}; shift 2; fi
repository=${1:-$(cd "$(dirname "$0")/.." && pwd)}
line=$("$(dirname "$0")/line.sh" primary)
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT

SECONDS=0
step() { # arguments: a name, then the command
  local name=$1 start=$SECONDS; shift
  if ! "$@" >"$home/log" 2>&1; then echo "$name failed:" >&2; tail -n 30 "$home/log" >&2; exit 1; fi
  printf '%6d s  %s\n' "$((SECONDS - start))" "$name"
}

# three generated relations, so that no data has to be downloaded first
query="SELECT count(*) FROM range(1000000) sale JOIN range(100000) item ON sale.id = item.id "
query+="JOIN range(10) brand ON item.id = brand.id"

step "git clone" git clone -q "$repository" "$home/dovetail"
cd "$home/dovetail"
step "make jar-$line (the jar of one Spark line)" make "jar-$line"
step "Python environment with pyspark $line" make ".venv/$line/demo"
step "the first dovetail explain" ".venv/$line/bin/dovetail" explain "$query"
grep -q "join" "$home/log" || { echo "nothing was explained:" >&2; cat "$home/log" >&2; exit 1; }
printf '%6d s  from clone to the first explained query\n' "$SECONDS"
if [ -n "$demo" ]; then step "make demo SCALE=$demo" make demo "SCALE=$demo"; fi

#!/usr/bin/env bash
# Names each missing prerequisite, with the command that installs it. Usage: tools/require.sh [python [oldest version]]
set -u
python=${1:-python3}
oldest=${2:-3.10}
# the pinned DuckDB, which generates the data of demo, tests and benchmarks, has no wheel for a newer one
newest=3.13
missing=0
need() { echo "dovetail: $1 is missing. Install it: $2" >&2; missing=1; }

jdk="apt-get install openjdk-17-jdk-headless, or brew install openjdk@17"
# Java 8 calls itself 1.8
version=$(java -version 2>&1 | sed -n 's/.*version "\(1\.\)\{0,1\}\([0-9]*\).*/\2/p' | head -n 1)
if [ -z "$version" ]; then need "a JDK 17" "$jdk"
elif [ "$version" -lt 17 ]; then need "a JDK 17 (this is $version)" "$jdk"
elif ! command -v javac >/dev/null; then need "a JDK 17 (this is a JRE without javac)" "$jdk"
fi

python3="apt-get install python3.11 python3.11-venv, or brew install python@3.11"
wanted="Python $oldest to $newest"
between='import sys; o, n = ([*map(int, v.split("."))] for v in sys.argv[1:]); v = [*sys.version_info[:2]]'
if ! command -v "$python" >/dev/null; then need "$wanted" "$python3"
elif ! "$python" -c "$between; sys.exit(not o <= v <= n)" "$oldest" "$newest"; then
  need "$wanted (this is $("$python" -V 2>&1); make PYTHON=python3.11 takes another one)" "$python3"
elif ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
  need "Python's venv module" "apt-get install python3-venv"
fi

if ! command -v sbt >/dev/null && ! command -v mvn >/dev/null; then
  need "Maven (or sbt)" "apt-get install maven, or brew install sbt"
fi
exit $missing

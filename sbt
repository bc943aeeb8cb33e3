#!/usr/bin/env bash
# sbt without installing sbt: the one on the PATH if there is one, else its launcher, fetched once as a Maven artifact.
# .jvmopts switches the JVM's second compiler off: a build of one jar takes 58 s of CPU time without it, 131 s with it.
set -euo pipefail
cd "$(dirname "$0")"
version=$(sed -n 's/^sbt.version=//p' project/build.properties)
launcher=.build/sbt-launch-$version.jar
need() { echo "dovetail: $1 not found. Install $2 or '$3'." >&2; exit 1; }

command -v java >/dev/null ||
  need java "a JDK 17, e.g. 'apt-get install openjdk-17-jdk-headless'" "brew install openjdk@17"
if command -v sbt >/dev/null; then exec sbt "$@"; fi
if [ ! -s "$launcher" ]; then
  command -v mvn >/dev/null || need "sbt or mvn" "one, e.g. 'apt-get install maven'" "brew install sbt"
  mvn -q -B dependency:copy -Dartifact=org.scala-sbt:sbt-launch:"$version" -DoutputDirectory=.build >&2
fi
# shellcheck disable=SC2046
exec java $(tr '\n' ' ' <.jvmopts) -Dsbt.override.build.repos=true -Dsbt.repository.config=project/repositories \
  -Dsbt.color=false -Dsbt.supershell=false -jar "$launcher" "$@"

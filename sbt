#!/usr/bin/env bash
# sbt without installing sbt: the one on the PATH if there is one, else its launcher, fetched once as a Maven artifact.
# .jvmopts switches the JVM's second compiler off: a build of one jar takes 58 s of CPU time without it, 131 s with it.
set -euo pipefail
cd "$(dirname "$0")"
version=$(sed -n 's/^sbt.version=//p' project/build.properties)
launcher=.build/sbt-launch-$version.jar
command -v java >/dev/null || { echo "dovetail: java not found. Install a JDK 17, e.g. 'apt-get install openjdk-17-jdk-headless' or 'brew install openjdk@17'." >&2; exit 1; }
if command -v sbt >/dev/null; then exec sbt "$@"; fi
if [ ! -s "$launcher" ]; then
  command -v mvn >/dev/null || { echo "dovetail: neither sbt nor mvn found. Install one, e.g. 'apt-get install maven' or 'brew install sbt'." >&2; exit 1; }
  mvn -q -B dependency:copy -Dartifact=org.scala-sbt:sbt-launch:"$version" -DoutputDirectory=.build >&2
fi
# shellcheck disable=SC2046
exec java $(tr '\n' ' ' <.jvmopts) -Dsbt.override.build.repos=true -Dsbt.repository.config=project/repositories -Dsbt.color=false -Dsbt.supershell=false -jar "$launcher" "$@"

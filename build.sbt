// Two project matrices with one row per Spark line (project/lines.txt): `kernel` has no Spark on its class path,
// `spark` connects the kernel with Catalyst. Directories omit the package prefix if Scala allows it:
// scala/spark/src/dovetail/spark contains the package org.apache.spark.sql.dovetail, which must lie under Spark's
// because much of Catalyst is private[sql].

// As in pyproject.toml. The project has no known address yet, so there is no homepage, scmInfo or developers.
ThisBuild / organization := "io.github.dovetail-spark"
ThisBuild / version      := IO.read(file("VERSION")).trim
ThisBuild / description  := "A join optimizer for Apache Spark SQL: better join orders, with or without statistics"
ThisBuild / licenses     := Seq("Apache-2.0" -> url("https://www.apache.org/licenses/LICENSE-2.0"))
// the URL of a repository, or a directory for inspecting what would be published (CONTRIBUTING.md, Releasing)
ThisBuild / publishTo := sys.env
  .get("DOVETAIL_PUBLISH_TO")
  .map(place => if (place.contains("://")) "releases" at place else Resolver.file("releases", file(place)))

val root_ = file(".").getAbsoluteFile

// JDK 17 keeps these packages closed. Spark's launcher opens them; a forked test JVM needs these options.
val sparkOpens = Seq(
  "java.lang",
  "java.lang.invoke",
  "java.lang.reflect",
  "java.io",
  "java.net",
  "java.nio",
  "java.util",
  "java.util.concurrent",
  "java.util.concurrent.atomic",
  "sun.nio.ch",
  "sun.nio.cs",
  "sun.security.action",
  "sun.util.calendar"
).map(p => s"--add-opens=java.base/$p=ALL-UNNAMED")

val strict = Seq("-deprecation", "-feature", "-unchecked", "-encoding", "UTF-8", "-Xfatal-warnings")

def scalacStrict(scala: String): Seq[String] =
  if (scala.startsWith("2.12")) strict ++ Seq("-Xlint:_,-unused", "-Ywarn-unused:imports,privates,locals")
  else strict ++ Seq("-Xlint:_,-byname-implicit", "-Wunused:imports,privates,locals", "-release:17")

def shared(line: SparkLine, tests: String) = Seq(
  scalacOptions ++= scalacStrict(line.scala),
  Compile / doc / sources           := Nil,
  Test / unmanagedSourceDirectories := Seq(root_ / "tests" / "scala" / tests),
  Test / fork                       := true,
  // Spark's pages and broadcasts are humongous objects for the default collector
  Test / javaOptions ++= Seq("-Xmx3g", "-XX:+UseParallelGC", "-XX:MetaspaceSize=256m") ++ sparkOpens,
  Test / baseDirectory := root_,
  // Suites of one JVM share one Spark context.
  Test / testForkedParallel := false,
  Test / testOptions += Tests.Argument(TestFrameworks.ScalaTest, "-oDS"),
  libraryDependencies ++= Seq(
    "org.scalatest"     %% "scalatest"       % "3.2.19"   % Test,
    "org.scalatestplus" %% "scalacheck-1-18" % "3.2.19.0" % Test
  )
)

/**
 * Join graph, estimates, costs and search, in plain Scala. Each line compiles the kernel with its own Scala patch
 * release, because the classes go into that line's jar.
 */
lazy val kernel = SparkLine.all.foldLeft(projectMatrix in file("scala/kernel")) { (m, line) =>
  m.customRow(
    autoScalaLibrary = true,
    scalaVersions = Seq(line.scala),
    axisValues = Seq(line, VirtualAxis.jvm),
    _.settings(
      shared(line, "kernel"),
      name                                 := s"dovetail-kernel-${line.short}",
      publish / skip                       := true,
      Compile / unmanagedSourceDirectories := Seq(root_ / "scala/kernel/src")
    )
  )
}

/** Catalyst rules, statistics, explain. */
lazy val spark = SparkLine.all
  .foldLeft(projectMatrix in file("scala/spark")) { (m, line) =>
    m.customRow(
      autoScalaLibrary = true,
      scalaVersions = Seq(line.scala),
      axisValues = Seq(line, VirtualAxis.jvm),
      _.enablePlugins(BuildInfoPlugin).settings(
        shared(line, "spark"),
        // Tests plan and run each query once or twice, so a suite takes a third less CPU time without the JVM's second
        // compiler. Such a JVM reserves 48 MiB for compiled code, which is too little, and interprets the rest.
        Test / javaOptions ++= Seq("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=512m"),
        name             := "dovetail",
        moduleName       := s"dovetail-spark-${line.short}",
        buildInfoPackage := "org.apache.spark.sql.dovetail",
        buildInfoKeys    := Seq[BuildInfoKey](
          version,
          "sparkLine"  -> line.short,
          "sparkBuilt" -> line.full,
          "scalaBuilt" -> line.scala
        ),
        sparkOf(line),
        if (line == SparkLine.primary) testsOfSpark(line) else Nil,
        Compile / unmanagedSourceDirectories :=
          (root_ / "scala/spark/src") +: line.shims.map(root_ / "scala/spark/shims" / _),
        Compile / packageBin / mappings ++= kernelClasses(line).value,
        Compile / packageBin / mappings += ((root_ / "LICENSE", "META-INF/LICENSE")),
        pomPostProcess := withoutKernel
      )
    )
  }
  .dependsOn(kernel)

/** Puts Spark on the class path, but not into the jar. */
def sparkOf(line: SparkLine): Def.SettingsDefinition =
  if (line.fromPyspark) Compile / unmanagedJars ++= Attributed.blankSeq(line.pysparkJars(root_))
  else libraryDependencies += "org.apache.spark" %% "spark-sql" % line.full % Provided

/**
 * Spark's tests jar, for its query texts. It stays off the class path, because it registers its own data sources.
 */
lazy val SparkTests = config("spark-tests").hide

def testsOfSpark(line: SparkLine): Seq[Setting[_]] = Seq(
  ivyConfigurations += SparkTests,
  libraryDependencies +=
    ("org.apache.spark" %% "spark-sql" % line.full % SparkTests classifier "tests").intransitive(),
  Test / javaOptions += s"-Ddovetail.spark.tests=${update.value.select(configurationFilter(SparkTests.name)).head}"
)

/** Micro-benchmarks: planning time per graph shape, time per value of a sketch. */
lazy val bench = (project in file("benchmarks/jmh"))
  .enablePlugins(JmhPlugin)
  .settings(
    scalaVersion   := SparkLine.primary.scala,
    publish / skip := true,
    // Spark's other dependencies bring a newer Scala library, as in Spark itself
    allowUnsafeScalaLibUpgrade                := true,
    libraryDependencies += "org.apache.spark" %% "spark-sql" % SparkLine.primary.full,
    javaOptions ++= sparkOpens
  )
  .dependsOn(Seq("kernel", "spark").map { p =>
    LocalProject(p + SparkLine.primary.projectSuffix): ClasspathDep[ProjectReference]
  }: _*)

/** The kernel's classes, which go into the published jar, so that users add one jar. */
def kernelClasses(line: SparkLine) = Def.taskDyn {
  Def.task((LocalProject("kernel" + line.projectSuffix) / Compile / packageBin / mappings).value)
}

/** Removes the kernel from the dependencies in the POM: the jar contains it, and it is not published by itself. */
def withoutKernel(pom: scala.xml.Node): scala.xml.Node = {
  import scala.xml.transform.{RewriteRule, RuleTransformer}
  val rule = new RewriteRule {
    override def transform(n: scala.xml.Node): Seq[scala.xml.Node] =
      if (n.label == "dependency" && (n \\ "artifactId").text.startsWith("dovetail-kernel")) Nil else Seq(n)
  }
  new RuleTransformer(rule).transform(pom).head
}

val jars_ = root_ / "python" / "dovetail" / "jars"

/** Copies the jars of these lines into the Python package. lines.json lists all lines, built or not. */
def bundle(lines: Seq[SparkLine]) = Def.task {
  val built = Def.taskDyn(lines.map(l => LocalProject("spark" + l.projectSuffix) / Compile / packageBin).join).value
  // deletes jars of other versions, and of lines that are no longer in the table
  val current = SparkLine.all.map(_.jarName(version.value)).toSet
  IO.delete((jars_ * "*.jar").get.filterNot(file => current(file.getName)))
  lines.zip(built).foreach { case (line, jar) => IO.copyFile(jar, jars_ / line.jarName(version.value)) }
  IO.write(jars_ / "lines.json", SparkLine.all.map(_.json).mkString("[", ",\n ", "]\n"))
}

val bundleJar = inputKey[Unit]("Put the jar of one Spark line into python/dovetail/jars: bundleJar 4.1")
bundleJar := Def.inputTaskDyn {
  import complete.DefaultParsers._
  val name = (Space ~> SparkLine.all.map(line => literal(line.short)).reduce(_ | _)).parsed
  bundle(SparkLine.all.filter(_.short == name))
}.evaluated

val bundleJars = taskKey[Unit]("Put the jar of every Spark line into python/dovetail/jars")
bundleJars := Def.taskDyn(bundle(SparkLine.all)).value

lazy val root = (project in file(".")).settings(publish / skip := true, Compile / unmanagedSourceDirectories := Nil)

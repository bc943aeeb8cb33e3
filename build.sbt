// Two matrices, one row per Spark line (project/spark-lines.tsv): `kernel` has no Spark on its class path, `spark` hooks
// it into Catalyst. Directories leave the package prefix out where Scala allows it: scala/spark/src/dovetail/spark holds
// org.apache.spark.sql.dovetail, a package that has to lie under Spark's because much of Catalyst is private[sql].

ThisBuild / organization := "io.github.dovetail-spark"
ThisBuild / version      := IO.read(file("VERSION")).trim
ThisBuild / licenses     := Seq("Apache-2.0" -> url("https://www.apache.org/licenses/LICENSE-2.0"))
// CONTRIBUTING.md, Releasing: a repository's URL, or a directory to look at what would be published
ThisBuild / publishTo := sys.env
  .get("DOVETAIL_PUBLISH_TO")
  .map(place => if (place.contains("://")) "releases" at place else Resolver.file("releases", file(place)))

val root_ = file(".").getAbsoluteFile

// JDK 17 keeps these packages closed; Spark opens them by its launcher, a forked test has to do it itself.
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
  Compile / doc / sources            := Nil,
  Test / unmanagedSourceDirectories := Seq(root_ / "tests" / "scala" / tests),
  Test / fork                        := true,
  Test / javaOptions ++= "-Xmx3g" +: sparkOpens,
  Test / baseDirectory               := root_,
  // Suites of one JVM share one Spark context.
  Test / testForkedParallel := false,
  Test / testOptions += Tests.Argument(TestFrameworks.ScalaTest, "-oDS"),
  libraryDependencies ++= Seq(
    "org.scalatest"     %% "scalatest"       % "3.2.19"   % Test,
    "org.scalatestplus" %% "scalacheck-1-18" % "3.2.19.0" % Test
  )
)

/**
 * Join graph, estimates, costs, search: plain Scala. Compiled with each line's own Scala patch release, because its
 * classes go into that line's jar.
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
        name             := "dovetail",
        moduleName       := s"dovetail-spark-${line.short}",
        buildInfoPackage := "org.apache.spark.sql.dovetail",
        buildInfoKeys := Seq[BuildInfoKey](
          version,
          "sparkLine"  -> line.short,
          "sparkBuilt" -> line.full,
          "scalaBuilt" -> line.scala
        ),
        libraryDependencies ++= (if (line.maven) Seq("org.apache.spark" %% "spark-sql" % line.full % Provided) else Nil),
        Compile / unmanagedJars ++= (if (line.maven) Nil else Attributed.blankSeq(line.pysparkJars(root_))),
        Test / unmanagedJars ++= (if (line.maven) Nil else Attributed.blankSeq(line.pysparkJars(root_))),
        Compile / unmanagedSourceDirectories := (root_ / "scala/spark/src") +: line.shims.map(s => root_ / "scala/spark/shims" / s),
        Compile / packageBin / mappings ++= kernelClasses(line).value,
        pomPostProcess := withoutKernel
      )
    )
  }
  .dependsOn(kernel)

/** Micro-benchmarks of the kernel (planning time per graph shape). */
lazy val bench = (project in file("benchmarks/jmh"))
  .enablePlugins(JmhPlugin)
  .settings(scalaVersion := SparkLine.primary.scala, publish / skip := true)
  .dependsOn(LocalProject("kernel" + SparkLine.primary.rowSuffix))

/** The kernel's classes go into the published jar, so that users add one jar. */
def kernelClasses(line: SparkLine) = Def.taskDyn {
  Def.task((LocalProject("kernel" + line.rowSuffix) / Compile / packageBin / mappings).value)
}

/** The kernel is in the jar, and not published by itself: nobody is to look for it. */
def withoutKernel(pom: scala.xml.Node): scala.xml.Node = {
  import scala.xml.transform.{RewriteRule, RuleTransformer}
  val rule = new RewriteRule {
    override def transform(n: scala.xml.Node): Seq[scala.xml.Node] =
      if (n.label == "dependency" && (n \\ "artifactId").text.startsWith("dovetail-kernel")) Nil else Seq(n)
  }
  new RuleTransformer(rule).transform(pom).head
}

val bundleJars = taskKey[Seq[File]]("Copy the jar of every Spark line into python/dovetail/jars, with a manifest")
bundleJars := Def.taskDyn(bundled(SparkLine.all)).value

val bundlePrimaryJar = taskKey[Seq[File]]("Copy the jar of the primary Spark line alone, with the same manifest")
bundlePrimaryJar := Def.taskDyn(bundled(Seq(SparkLine.primary))).value

/** Puts jars beside those that are there; the manifest names all lines, built or not. */
def bundled(lines: Seq[SparkLine]) = Def.task {
  val out  = root_ / "python" / "dovetail" / "jars"
  val jars = Def.taskDyn(lines.map(l => LocalProject("spark" + l.rowSuffix) / Compile / packageBin).join).value
  val all  = SparkLine.all.map(_.jarName(version.value)).toSet
  IO.delete((out * "*.jar").get.filterNot(jar => all(jar.getName)))
  IO.write(out / "lines.json", SparkLine.all.map(_.json).mkString("[", ",\n ", "]\n"))
  lines.zip(jars).map { case (line, jar) =>
    val target = out / line.jarName(version.value)
    IO.copyFile(jar, target)
    target
  }
}

lazy val root = (project in file(".")).settings(publish / skip := true, Compile / unmanagedSourceDirectories := Nil)

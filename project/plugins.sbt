addSbtPlugin("com.eed3si9n"       % "sbt-projectmatrix" % "0.11.0")
addSbtPlugin("com.eed3si9n"       % "sbt-buildinfo"     % "0.13.2")
addSbtPlugin("org.scalameta"      % "sbt-scalafmt"      % "2.5.6")
addSbtPlugin("pl.project13.scala" % "sbt-jmh"           % "0.4.8")

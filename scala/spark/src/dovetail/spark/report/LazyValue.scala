package org.apache.spark.sql.dovetail.report

/** A value that is made when it is first asked for, in whatever thread; what it is made of is let go then. */
final class LazyValue[A](private var make: () => A) {
  lazy val value: A = { val made = make(); make = null; made }
}

package org.apache.spark.sql.dovetail.base

/** The methods that called the running one. Where Spark passes no context, they tell for what it calls. */
object Callers {

  /** Whether a method of a class is among them whose full name begins with one of these texts. */
  def include(classes: String*): Boolean = StackWalker.getInstance().walk[java.lang.Boolean] { frames =>
    frames.anyMatch(frame => classes.exists(frame.getClassName.startsWith))
  }
}

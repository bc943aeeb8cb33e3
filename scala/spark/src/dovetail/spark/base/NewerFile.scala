package org.apache.spark.sql.dovetail.base

import java.io.IOException

/**
 * A newer program wrote the file, in a form that this one does not know.
 *
 * @param program Dovetail or Spark
 * @param form    what is not known
 */
final class NewerFile(program: String, form: String)
    extends IOException(
      s"a newer version of $program wrote it ($form, which this version cannot read): analyze the table again, or " +
        s"use a newer $program"
    ) {

  /** What to tell the user whose statement replaces the file. */
  def replaced: String =
    s"statistics that a newer version of $program wrote ($form, which this version cannot read) were replaced"
}

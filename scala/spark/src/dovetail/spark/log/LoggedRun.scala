package org.apache.spark.sql.dovetail.log

/**
 * The first run of a logged query, for observers of the log.
 *
 * @param query    entry of the log, with the row counts of the run
 * @param computes hash of what the query computes, and of the action: only times of equal ones are comparable. None if
 *                 the plan is too deep for it
 * @param warm     whether this application has run the same before
 * @param finished whether the run ended without a failure. The row counts of other runs are unknown
 * @param stops    whether a LIMIT may have ended the run before all rows were made, so that its time says little
 */
final case class LoggedRun(
    query: LoggedQuery,
    computes: Option[String],
    warm: Boolean,
    finished: Boolean,
    stops: Boolean
)

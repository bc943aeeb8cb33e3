package org.apache.spark.sql.dovetail

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.Path
import org.apache.spark.sql.dovetail.history.{GroupRuns, History, HistoryEntry}
import org.apache.spark.sql.dovetail.report.{DataStamp, GroupIdentity}
import org.apache.spark.sql.dovetail.store.StoreFiles

/**
 * A program that records runs of queries and writes the history after each of them, until it is killed: `HistoryWriter
 * <directory> <name>`. Its entries have the keys `<name>-0` to `<name>-9`. Run i is recorded in entry `i % 10`, with i
 * rows.
 */
object HistoryWriter {
  private val Keys = 10

  /** Milliseconds between two writes: about as long as a write takes. */
  private val Rest = 20L

  def history(directory: String): History = new History(new StoreFiles(new Path(directory), new Configuration()))

  private def entry(key: String, i: Int): HistoryEntry = {
    val relation = GroupIdentity.OfRelation("r", Vector("t"), DataStamp(1L, 1, 1L, 1L))
    GroupRuns(
      key,
      Vector(relation),
      Map(Set(0) -> GroupRuns.OfSet("r", i.toLong, 3.0)),
      Vector.empty,
      None,
      1,
      i.toLong
    )
  }

  /** Rows of each entry in the file, by key, as a new application reads it, however long that takes. */
  def rows(history: History): Map[String, Long] = {
    history.take(Vector.empty)
    history.now.entries.collect { case g: GroupRuns => g.key -> g.sets(Set(0)).rows }.toMap
  }

  def record(history: History, key: String, i: Int): Unit = {
    history.add(Seq(key))((key, _) => entry(key, i))
    history.save()
  }

  def main(arguments: Array[String]): Unit = {
    val mine = history(arguments(0))
    Iterator.from(1).foreach { i =>
      record(mine, s"${arguments(1)}-${i % Keys}", i)
      // a writer that never rests keeps the lock from others until they write without it
      Thread.sleep(Rest)
    }
  }
}

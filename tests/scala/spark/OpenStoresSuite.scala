package org.apache.spark.sql.dovetail

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path => HadoopPath}
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.history.History
import org.apache.spark.sql.dovetail.steer.Pins
import org.apache.spark.sql.dovetail.store.{OpenStores, StatisticsStore, StoreFiles, StoreSlot, StoreState, TableKey}

/** The stores of one JVM: one per directory, and a bound on their number. */
class OpenStoresSuite extends DovetailSuite {

  test("a directory has one store, one history and one list of pins, however it is written") {
    withDirectory { d =>
      def at(text: String) =
        withConf(DovetailConf.StorePath.key -> text)((StatisticsStore(spark), History(spark), Pins(spark)))
      val (store, history, pins) = at(d.toString)
      Seq(s"$d/", s"file:$d", s"file://$d", s" $d ").foreach { text =>
        val (sameStore, sameHistory, samePins) = at(text)
        assert((sameStore eq store) && (sameHistory eq history) && (samePins eq pins), text)
      }
      val (other, otherHistory, _) = at(s"$d/other")
      assert(!(other eq store) && !(otherHistory eq history))
      assert(at("relative")._1 eq at(s"${System.getProperty("user.dir")}/relative")._1)
    }
  }

  test(
    "sessions with different settings for files have different stores, because a store reads with their credentials"
  ) {
    withDirectory { d =>
      withConf(DovetailConf.StorePath.key -> d.toString) {
        val mine = StatisticsStore(spark)
        withConf("fs.test.key" -> "other") {
          assert(!(StatisticsStore(spark) eq mine) && (StatisticsStore(spark) eq StatisticsStore(spark)))
        }
        withConf("spark.sql.shuffle.partitions" -> "3")(assert(StatisticsStore(spark) eq mine))
      }
    }
  }

  test("the key of a table opens no file system: Hadoop would keep it, without the credentials of the session") {
    val hadoop = new Configuration(false)
    assert(TableKey.of(new HadoopPath("nowhere://bucket/t"), hadoop) == "nowhere://bucket/t")
    assert(Seq("/d/t", "file:/d/t", "file:///d/t/").map(t => TableKey.of(new HadoopPath(t), hadoop)) ==
      Seq.fill(3)("file:/d/t"))
  }

  test("a relative path on another file system is not completed, because that would ask the file system") {
    val hadoop = new Configuration(false)
    hadoop.set("fs.defaultFS", "hdfs://name:8020")
    def qualified(text: String) = StoreFiles.qualified(new HadoopPath(text), hadoop)
    assert(qualified("a/b") == "a/b")
    assert(Seq("/a", "hdfs:/a", "hdfs://name:8020/a/").map(qualified).distinct == Seq("hdfs://name:8020/a"))
    assert(qualified("file:/a") == "file:/a" && qualified("s3a://bucket/a") == "s3a://bucket/a")
  }

  private class Note extends StoreState {
    var saved                     = true
    override def isSaved: Boolean = saved
    override def save(): Unit     = saved = true
  }

  test("of many stores, the least recently used are closed: after a while, and only if all of their state is saved") {
    withDirectory { d =>
      var now    = 0L
      val stores = new OpenStores(most = 2, idleNanos = 10L, () => now)
      val notes  = new StoreSlot[Note](_ => new Note)

      def store(name: String, at: Long): StatisticsStore = {
        now = at
        stores(name)(new StatisticsStore(new StoreFiles(new HadoopPath(s"$d/$name"), new Configuration())))
      }
      def open = stores.all.map(_.files.directory.getName)

      store("a", 0L).state(notes)(_ => new Note).saved = false
      store("b", 1L)
      store("c", 2L)
      store("d", 3L)
      assert(open == Seq("a", "b", "c", "d"), "all of them are in use")
      store("b", 11L)
      assert(open == Seq("a", "c", "d", "b"), "what is only in memory stays")
      store("b", 12L)
      assert(open == Seq("a", "d", "b"), "c is idle")
      store("a", 13L).state(notes)(_ => new Note).save()
      assert(open == Seq("b", "a"))
      store("e", 30L)
      assert(open == Seq("a", "e"))
    }
  }
}

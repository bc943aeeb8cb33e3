package org.apache.spark.sql.dovetail

import java.security.PrivilegedExceptionAction

import org.apache.hadoop.conf.Configuration
import org.apache.hadoop.fs.{Path => HadoopPath}
import org.apache.hadoop.security.UserGroupInformation
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

  test("a store reads and writes as the user who opened it, in whatever thread") {
    withDirectory { d =>
      val bob                                              = UserGroupInformation.createRemoteUser("bob")
      def as[A](user: UserGroupInformation)(body: => A): A =
        user.doAs(new PrivilegedExceptionAction[A] { override def run(): A = body })
      val files        = as(bob)(new StoreFiles(new HadoopPath(d.toUri), new Configuration(false)))
      var users        = Seq.empty[String]
      def note(): Unit = users :+= UserGroupInformation.getCurrentUser.getUserName
      files.replace("a.json") { out => out.write(1); note() }
      files.open("a.json")(_ => note())
      files.locked(note())
      assert(users == Seq("bob", "bob", "bob"))
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

  test(
    "of many stores, the least recently used are closed, those whose state is not saved only if there are too many"
  ) {
    withDirectory { d =>
      val stores = new OpenStores(most = 2)
      val notes  = new StoreSlot[Note](_ => new Note)

      def store(name: String): StatisticsStore =
        stores(name)(new StatisticsStore(new StoreFiles(new HadoopPath(s"$d/$name"), new Configuration())))
      def open                                     = stores.all.map(_.files.directory.getName)
      def note(name: String, saved: Boolean): Unit = store(name).state(notes)(_ => new Note).saved = saved

      note("a", saved = false)
      store("b")
      store("c")
      assert(open == Seq("a", "c"), "what is only in memory stays")
      store("a")
      store("d")
      assert(open == Seq("a", "d"), "the one that was used least recently is closed")
      Seq("b", "c", "d").foreach(note(_, saved = false))
      assert(open == Seq("a", "b", "c", "d"))
      note("a", saved = false)
      store("e")
      assert(open == Seq("c", "d", "a", "e"), "a driver has memory for twice as many, whatever is lost")
      note("c", saved = true)
      note("d", saved = true)
      store("f")
      assert(open == Seq("a", "f"))
    }
  }

  test("a session that gets new credentials again and again has no store for each of them") {
    val session = spark.newSession()
    val before  = StatisticsStore(session)
    val stores  = (0 until 2 * OpenStores.Most).map { i =>
      session.conf.set("fs.s3a.session.token", s"t$i")
      Pins(session).used("p")
      StatisticsStore(session)
    }
    assert(stores.distinct.size == stores.size && !stores.contains(before), "each reads with its own credentials")
    assert(StatisticsStore.inUse.size <= OpenStores.Most)
    assert(Pins(session).uses("p") == 2L * OpenStores.Most, "the store is another one, the pins are the same")
  }
}

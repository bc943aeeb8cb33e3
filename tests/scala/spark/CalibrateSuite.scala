package org.apache.spark.sql.dovetail

import java.io.{FileNotFoundException, IOException}
import java.nio.file.{Files, Path}

import dovetail.kernel.cost.{CostConstants, CostText}
import org.apache.hadoop.fs.{Path => HadoopPath}
import org.apache.spark.sql.Row
import org.apache.spark.sql.dovetail.base.DovetailConf
import org.apache.spark.sql.dovetail.cluster.{ClusterCosts, StoredCosts}
import org.apache.spark.sql.dovetail.deadline.Aside
import org.apache.spark.sql.dovetail.sql.MicroQueries
import org.apache.spark.sql.dovetail.store.StoreFiles

/** Constants of the cost model: measured, stored, set by hand, and wrong ones. */
class CalibrateSuite extends DovetailSuite {
  private def withStore[A](body: Path => A): A =
    withDirectory(d => withConf(DovetailConf.StorePath.key -> d.resolve("store").toString)(body(d.resolve("store"))))
  private def costs: CostConstants       = ClusterCosts(spark, spark.sessionState.conf)
  private def run(sql: String): Seq[Row] = spark.sql(sql).collect().toSeq

  test("measured, kept in the store's directory, used, and taken back") {
    withStore { store =>
      assert(costs == CostConstants())
      val rows = run("DOVETAIL CALIBRATE 100000 ROWS")
      assert(rows.map(_.getString(0)) == CostText.names)
      rows.foreach(r =>
        assert(r.getDouble(3) >= r.getDouble(1) / 10.001 && r.getDouble(3) <= r.getDouble(1) * 10.001, r)
      )
      CostText.constants.zip(rows).foreach { case ((_, get, _), r) => assert(get(costs) == r.getDouble(3)) }
      val file = store.resolve("cluster.costs")
      assert(CostText.read(Files.readString(file), CostConstants()) == Right(costs))

      assert(run("DOVETAIL CALIBRATE RESET").forall(r => r.isNullAt(2) && r.getDouble(1) == r.getDouble(3)))
      assert(costs == CostConstants() && !Files.exists(file))
    }
  }

  test("a file from another session is read; a broken one is ignored with one warning") {
    withStore { store =>
      Files.createDirectories(store)
      Files.writeString(store.resolve("cluster.costs"), "merge=7, hashProbe=3.5")
      assert(costs == CostConstants(merge = 7.0, hashProbe = 3.5))
    }
    withStore { store =>
      Files.createDirectories(store)
      Files.writeString(store.resolve("cluster.costs"), "merge=seven")
      val (found, lines) = LogCapture("dovetail")((1 to 3).map(_ => costs))
      assert(found.distinct == Seq(CostConstants()))
      assert(
        lines.size == 1 && lines.head.contains("merge is 'seven'") && lines.head.contains("DOVETAIL CALIBRATE"),
        lines
      )
    }
  }

  for (
    (kind, fault) <- Seq[(String, () => IOException)](
      "a file system that fails" -> (() => new IOException("503 Slow Down")),
      // Java has no other exception for it
      "a file that this user may not read" -> (() => new FileNotFoundException("503 Slow Down (Permission denied)"))
    )
  ) test(s"$kind for a while costs the measured constants only for that while") {
    withDirectory { d =>
      withConf(WatchedFileSystem.setting) {
        val directory = new HadoopPath(s"${WatchedFileSystem.Scheme}:$d")
        Files.writeString(d.resolve("cluster.costs"), "merge=7")
        var now    = 0L
        val stored = new StoredCosts(new StoreFiles(directory, spark.sessionState.newHadoopConf()), () => now)
        WatchedFileSystem.beforeOpen = _ => throw fault()
        val (found, lines) =
          try LogCapture("dovetail")(stored.constants)
          finally WatchedFileSystem.beforeOpen = (_: HadoopPath) => ()
        assert(found == CostConstants() && lines.size == 1, lines)
        assert(lines.head.contains("503 Slow Down") && lines.head.contains("tries it again every 30 s"), lines)
        assert(stored.constants == CostConstants(), "not every query asks a file system that failed")
        now += Aside.TriedAgainAfter
        assert(stored.constants == CostConstants(merge = 7.0))
      }
    }
  }

  test("the setting takes the place of single constants, and refuses what is none") {
    withConf(DovetailConf.CostConstants.key -> " exchangeByte = 12.5 ,merge=1")(assert(costs == CostConstants(
      exchangeByte = 12.5,
      merge = 1.0
    )))
    Seq(
      "merge=0"   -> "merge is '0'",
      "merges=1"  -> "'merges' is not one of rowProduced",
      "merge"     -> "merge is ''",
      "merge=NaN" -> "merge is 'NaN'"
    ).foreach {
      case (wrong, complaint) =>
        val e = intercept[Exception](spark.conf.set(DovetailConf.CostConstants.key, wrong))
        assert(e.getMessage.contains(complaint) && e.getMessage.contains(DovetailConf.CostConstants.key), e)
    }
  }

  test("what was not measured keeps its ratio to the others, and ten times is the most") {
    val twice = CostText.constants.take(7).map { case (name, get, _) => name -> get(CostConstants()) * 2.0 }.toMap
    val found = MicroQueries.constants(twice)
    CostText.constants.foreach { case (name, get, _) =>
      assert(math.abs(get(found) / get(CostConstants()) - 2.0) < 1e-9, name)
    }
    assert(MicroQueries.constants(Map.empty) == CostConstants())
    assert(MicroQueries.constants(Map("merge" -> 1e9)).merge == CostConstants().merge * 10.0)
    assert(MicroQueries.constants(Map("merge" -> 1e-9)).merge == CostConstants().merge / 10.0)
  }

  test("too few and too many rows are refused with what is allowed") {
    Seq(10L, 1000000001L, 999999999999999999L).foreach { n =>
      val e = intercept[IllegalArgumentException](spark.sql(s"DOVETAIL CALIBRATE $n ROWS"))
      assert(e.getMessage.contains(s"DOVETAIL CALIBRATE takes 100000 to 1000000000 rows, not $n."), e.getMessage)
    }
    // the largest key that is multiplied must not overflow
    assert(Math.multiplyExact(1000000000L, 2654435761L) > 0)
  }
}

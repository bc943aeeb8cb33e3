package org.apache.spark.sql.dovetail

import org.apache.spark.sql.dovetail.base.BoundedCache
import org.apache.spark.sql.dovetail.footers.{FileKey, FooterCache, FooterEntry}

class BoundedCacheSuite extends DovetailSuite {
  private def cache(most: Long) = new BoundedCache[String, String]("test", most)(_.length.toLong)

  test("what was used longest ago goes first") {
    val c = cache(6)
    Seq("a" -> "11", "b" -> "22", "c" -> "33").foreach { case (k, v) => c.put(k, v) }
    assert(c.get("a").contains("11"))
    c.put("d", "44")
    assert(c.get("b").isEmpty && Seq("a", "c", "d").forall(c.get(_).isDefined) && c.weight == 6L)
  }

  test("an entry that takes another one's place takes its weight, too") {
    val c = cache(10)
    c.put("a", "12345678")
    c.put("a", "1")
    assert(c.size == 1 && c.weight == 1L)
    c.put("b", "123456789")
    assert(c.size == 2 && c.weight == 10L)
    c.remove("b")
    c.remove("b")
    assert(c.size == 1 && c.weight == 1L)
  }

  test("what passes a test is removed with its weight") {
    val c = cache(10)
    Seq("a" -> "1", "b" -> "22", "c" -> "333").foreach { case (k, v) => c.put(k, v) }
    c.removeIf(_ != "b")
    assert(c.size == 1 && c.weight == 2L && c.get("b").contains("22"))
  }

  test("what is too heavy for the cache stays alone, until the next one comes") {
    val c = cache(3)
    c.put("a", "1")
    c.put("b", "1234567")
    assert(c.size == 1 && c.get("b").isDefined)
    c.put("c", "1")
    assert(c.size == 1 && c.get("c").isDefined && c.weight == 1L)
  }

  test("DOVETAIL CLEAR CACHES empties all of them") {
    val (key, mine) = (FileKey("file:/none", 1L, 1L), cache(10))
    FooterCache.put(key, new FooterEntry(None))
    mine.put("a", "1")
    val done = spark.sql("DOVETAIL CLEAR CACHES").head().getString(0)
    assert(done.takeWhile(_.isDigit).toInt >= 2, done)
    assert(FooterCache.get(key).isEmpty && mine.size == 0 && mine.weight == 0L)
  }
}

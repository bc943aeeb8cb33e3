package org.apache.spark.sql.dovetail

import scala.util.Random

/**
 * Random queries over [[RandomTables]]: joins of all kinds of 2 to 7 relations, predicates of all kinds, subqueries,
 * derived tables, aggregates.
 */
final class RandomQueries(random: Random) {
  import RandomQueries.Input

  private var aliases                    = 0
  private val All                        = Set("k", "g", "s", "d", "v", "x", "f")
  private def alias()                    = { aliases += 1; s"r$aliases" }
  private def table()                    = one(RandomTables.names ++ RandomTables.names.take(4): _*)
  private def one[A](values: A*): A      = values(random.nextInt(values.size))
  private def chance(p: Double): Boolean = random.nextDouble() < p
  private def some(most: Int): Range     = 0 until random.nextInt(most + 1)

  def query(): String = {
    aliases = 0
    if (chance(0.06))
      s"SELECT count(*) FROM (${select(small = true)}) UNION ALL SELECT count(*) FROM (${select(small = true)})"
    else if (chance(0.06)) twice()
    else select(small = false)
  }

  /** A common table expression that is joined with itself. */
  private def twice(): String = {
    val (a, b) = (base(), base())
    val (c, d) = (base(), base())
    val body   =
      s"SELECT ${a.alias}.k, ${b.alias}.g, ${c.alias}.s, count(*) AS v FROM ${a.sql} JOIN ${b.sql} ON ${a.alias}.k = " +
        s"${b.alias}.k JOIN ${c.sql} ON ${equality(c, Vector(a, b))} GROUP BY 1, 2, 3"
    s"WITH c AS ($body) SELECT p.k, p.v, q.s FROM c p JOIN c q ON p.k = q.k JOIN ${d.sql} ON ${d.alias}.k = q.k " +
      "WHERE p.v <= q.v"
  }

  private def select(small: Boolean): String = {
    val size            = if (small) 2 + random.nextInt(2) else 2 + random.nextInt(6)
    val (from, visible) = if (chance(0.3)) commas(size) else joins(size)
    val where           = some(3).map(_ => predicate(visible))
    val (list, tail)    = output(visible)
    s"SELECT $list FROM ${from.takeWhile(_ != '|')}${conjunction(" WHERE ", after(from) ++ where)}$tail"
  }

  // FROM

  private def base(): Input = { val a = alias(); Input(s"${table()} $a", a, All) }

  private def input(): Input = {
    val a = alias()
    random.nextInt(12) match {
      case 0 => Input(s"(SELECT k, g, count(*) AS v FROM ${table()} GROUP BY k, g) $a", a, Set("k", "g", "v"))
      case 1 => Input(s"(SELECT DISTINCT k, s FROM ${table()}) $a", a, Set("k", "s"))
      case 2 => Input(
          s"(SELECT k, v, s FROM ${table()} UNION ALL SELECT k + 1, v, s FROM ${table()}) $a",
          a,
          Set("k", "v", "s")
        )
      case 3 =>
        val (l, r) = (base(), base())
        Input(
          s"(SELECT ${l.alias}.k, ${r.alias}.g, ${r.alias}.v FROM ${l.sql} ${one("JOIN", "LEFT JOIN")} ${r.sql} ON " +
            s"${equality(r, Vector(l))}) $a",
          a,
          Set("k", "g", "v")
        )
      case 4 => Input(
          s"(SELECT k, v, row_number() OVER (PARTITION BY k ORDER BY v, g, s, d, x, f) AS g FROM ${table()}) $a",
          a,
          Set("k", "g", "v")
        )
      case _ => Input(s"${table()} $a", a, All)
    }
  }

  private def kind(): String = random.nextInt(20) match {
    case n if n < 12 => "JOIN"
    case n if n < 15 => "LEFT JOIN"
    case n if n < 17 => "RIGHT JOIN"
    case 17          => "FULL JOIN"
    case 18          => "LEFT SEMI JOIN"
    case _           => "LEFT ANTI JOIN"
  }

  private def joins(size: Int): (String, Vector[Input]) = {
    val first           = input()
    var (from, visible) = (first.sql, Vector(first))
    var wide            = 0 // joins that multiply rows
    (1 until size).foreach { _ =>
      val next = input()
      if (wide == 0 && chance(0.06)) { wide += 1; from += s" CROSS JOIN ${next.sql}"; visible :+= next }
      else if (chance(0.12)) {
        val inner = base()
        from += s" ${one("JOIN", "LEFT JOIN", "FULL JOIN")} (${next.sql} JOIN ${inner.sql} ON " +
          s"${equality(inner, Vector(next))}) ON ${equality(inner, visible)}"
        visible = visible :+ next :+ inner
      } else {
        val k = kind()
        from += s" $k ${next.sql} ON ${condition(next, visible, wide == 0)}"
        if (!from.endsWith(")")) wide += (if (from.contains("<")) 1 else 0)
        if (!k.contains("SEMI") && !k.contains("ANTI")) visible :+= next
      }
    }
    (from, visible)
  }

  /** `FROM a, b, c` with the join conditions in WHERE; `|` separates the two. */
  private def commas(size: Int): (String, Vector[Input]) = {
    val inputs     = Vector.fill(size)(input())
    val conditions = (1 until size).map(i => condition(inputs(i), inputs.take(i), wide = false))
    val shuffled   = random.shuffle(inputs)
    (shuffled.map(_.sql).mkString(", ") + "|" + conditions.mkString("|"), inputs)
  }

  private def after(from: String): Seq[String] = from.split('|').toSeq.drop(1)

  // predicates

  private def condition(next: Input, visible: Vector[Input], wide: Boolean): String = {
    val main = random.nextInt(20) match {
      case 0 if wide             => s"${pair("v", "<", next, one(visible: _*))}"
      case 1                     => s"(${equality(next, visible)} OR ${pair("v", "=", next, one(visible: _*))})"
      case 2                     => pair("k", "<=>", next, one(visible: _*))
      case 3 if visible.size > 1 =>
        val Seq(a, b) = random.shuffle(visible).take(2): @unchecked;
        s"${column(a, "k")} + ${column(b, "v")} = ${column(next, "v")}"
      case 4 | 5 | 6 =>
        val other = one(visible: _*); s"${pair("k", "=", next, other)} AND ${pair(one("v", "g"), "=", next, other)}"
      case 7                     => s"coalesce(${column(next, "k")}, 0) = ${column(one(visible: _*), "k")}"
      case 8 if visible.size > 1 => s"${equality(next, visible)} AND ${equality(next, visible)}"
      case _                     => equality(next, visible)
    }
    if (chance(0.15)) s"$main AND ${filter(next)}" else main
  }

  /** `next.c = other.c`, mostly on the column that many other joins use. */
  private def equality(next: Input, visible: Vector[Input]): String = {
    val other  = one(visible: _*)
    val shared = next.columns.intersect(other.columns).toVector.sorted
    if (chance(0.1) || shared.isEmpty) s"${column(next, "k")} = ${column(other, "g")}"
    else pair(if (chance(0.5) && shared.contains("k")) "k" else one(shared: _*), "=", next, other)
  }

  private def pair(c: String, op: String, a: Input, b: Input): String = s"${column(a, c)} $op ${column(b, c)}"

  /** The column of the input, or another column if the input does not have it. */
  private def column(i: Input, c: String): String =
    s"${i.alias}.${if (i.columns(c)) c else if (i.columns("k")) "k" else i.columns.min}"

  private def filter(i: Input): String = random.nextInt(8) match {
    case 0                   => s"${column(i, "v")} < ${1 + random.nextInt(9)}"
    case 1                   => s"${column(i, "k")} IN (1, 2, ${random.nextInt(5)})"
    case 2                   => s"${column(i, "g")} IS NOT NULL"
    case 3                   => s"NOT (${column(i, "v")} = 3 OR ${column(i, "k")} = 2)"
    case 4 if i.columns("s") => s"${i.alias}.s ${one("LIKE 'a%'", "<> 'b'", "IN ('a', 'c')", "IS NULL")}"
    case 5 if i.columns("d") => s"${i.alias}.d ${one(">=", "<")} DATE '2020-01-02'"
    case 6 if i.columns("x") => s"${i.alias}.x ${one(">= 0.0", "= 0.0", "< 1.0")}"
    case _                   => s"${column(i, "v")} BETWEEN 1 AND ${2 + random.nextInt(8)}"
  }

  private def predicate(visible: Vector[Input]): String = {
    val (a, b, z) = (one(visible: _*), one(visible: _*), base())
    random.nextInt(12) match {
      case 0     => s"(${filter(a)} OR ${filter(b)})"
      case 1     => s"((${filter(a)} AND ${filter(b)}) OR (${filter(a)} AND ${filter(b)}))"
      case 2 | 3 =>
        s"${one("", "NOT ")}EXISTS (SELECT 1 FROM ${z.sql} WHERE " +
          s"${pair("k", "=", z, a)}${one("", s" AND ${filter(z)}", s" AND ${pair("v", "<", z, a)}")})"
      case 4 =>
        val (y, w) = (base(), base())
        s"${one("", "NOT ")}EXISTS (SELECT 1 FROM ${z.sql} JOIN ${y.sql} ON ${equality(y, Vector(z))} JOIN " +
          s"${w.sql} ON ${equality(w, Vector(z, y))} WHERE ${pair("k", "=", w, a)})"
      case 5 => s"${column(a, "k")} IN (SELECT ${z.alias}.k FROM ${z.sql} WHERE ${filter(z)})"
      case 6 =>
        s"${column(a, "k")} NOT IN (SELECT ${z.alias}.k FROM ${z.sql} WHERE " +
          s"${one(s"${z.alias}.k IS NOT NULL AND ", "")}${filter(z)})"
      case 7 => s"(${filter(a)} OR ${column(b, "k")} IN (SELECT ${z.alias}.v FROM ${z.sql}))"
      case 8 =>
        s"${column(a, "v")} > (SELECT avg(${z.alias}.v) - 2 FROM ${z.sql}${one("", s" WHERE ${pair("k", "=", z, b)}")})"
      case _ => filter(a)
    }
  }

  private def conjunction(start: String, predicates: Seq[String]): String =
    if (predicates.isEmpty) "" else predicates.mkString(start, " AND ", "")

  // SELECT and what follows WHERE

  private def output(visible: Vector[Input]): (String, String) = {
    val columns = Vector.fill(1 + random.nextInt(4)) {
      val i = one(visible: _*); s"${i.alias}.${one(i.columns.toVector.sorted: _*)}"
    }
    val named   = columns.zipWithIndex.map { case (c, i) => s"$c AS c$i" }.mkString(", ")
    val ordered = columns.indices.map(i => s"c$i").mkString(", ")
    val a       = one(visible: _*)
    random.nextInt(10) match {
      case 0 | 1     => (s"count(${one("*", column(a, "g"))}), sum(${column(a, "v")}), max(${column(a, "k")})", "")
      case 2 | 3 | 4 =>
        (
          s"$named, count(${one("*", column(a, "k"), s"DISTINCT ${column(a, "s")}")}) AS n, " +
            s"${one("min", "sum")}(${column(a, "v")})${one("", s" FILTER (WHERE ${column(a, "k")} > 2)")} AS low",
          s" GROUP BY ${columns.distinct.mkString(", ")}${one("", "", " HAVING count(*) > 1")}"
        )
      case 5 => (s"DISTINCT $named", "")
      case 6 => (named, s" ORDER BY $ordered LIMIT 5")
      case _ => (named, "")
    }
  }
}

object RandomQueries {

  /** A relation in a FROM clause, with the columns that it provides. */
  final private case class Input(sql: String, alias: String, columns: Set[String])
}

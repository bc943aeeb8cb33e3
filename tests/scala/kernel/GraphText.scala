package dovetail.kernel

import scala.collection.mutable

import dovetail.kernel.enumerate.Shape
import dovetail.kernel.graph.{Clustering, EquivalenceClass, JoinGraph, JoinPredicate, Member, Relation}
import dovetail.kernel.profile.{
  Assumptions,
  ColumnProfile,
  Estimate,
  Frequencies,
  FrequentValue,
  RelationProfile,
  RowBytes,
  Source
}

/**
 * Join graphs as text, so that a table of cases is readable. `;` or a line break separates statements, `#` starts a
 * comment.
 * {{{
 *   A 1000                    relation A: 1000 rows
 *   B 50/1000 bytes=40        predicates keep 50 of 1000 rows; 40 bytes per row (100 if not given)
 *   C 10 broadcast            the engine would broadcast C; `upper=20`: at most 20 rows; `tasks=2`: 2 tasks
 *                             read it
 *   C key x,y                 (x, y) is certainly unique in C
 *   C files x,y               its files are partitioned by x and y
 *   C hashed x,y              its rows are partitioned by the hash of x and y
 *   A.x ndv=100 nulls=0.2     column x of A; also domain= (default: ndv), min=, max=, top=0.3 (share of its most
 *   frequent value)
 *   A.x:100=B.y:50=C.x        an equality; `:100` is short for ndv. A column in two equalities makes them one class.
 *   A~B~C 0.1                 a predicate over A, B and C that keeps a tenth of the combinations
 *   A+B=C 0.01                an equality between expressions over {A, B} and {C}: a hyperedge
 *   above A.x,B.y 10 nanos=5  a grouping by these columns that makes 10 groups; the exchange of a group takes 5 ns
 * }}}
 */
object GraphText {
  private val Name       = "([A-Z]\\d*)"
  private val Number     = "([\\d.eE+]+)"
  private val RelationIs = s"$Name $Number(?:/$Number)?((?: \\w+(?:=\\S+)?)*)".r
  private val KeyIs      = s"$Name key ([\\w,]+)".r
  private val FilesAre   = s"$Name files ([\\w,]+)".r
  private val HashedBy   = s"$Name hashed ([\\w,]+)".r
  private val ColumnIs   = s"$Name\\.(\\w+) (.*=.*)".r
  private val MemberIs   = s"$Name\\.(\\w+)(?::$Number)?".r
  private val GroupedBy  = s"above (\\S+) $Number nanos=$Number".r
  private val Predicate  = s"([A-Z\\d]+(?:~[A-Z\\d]+)+) $Number".r
  private val Hyperedge  = s"([A-Z\\d]+(?:\\+[A-Z\\d]+)*)=([A-Z\\d]+(?:\\+[A-Z\\d]+)*) $Number".r

  /** The name of relation `i`: A, B, … Z, A1, B1, … */
  def name(i: Int): String = s"${('A' + i % 26).toChar}${if (i < 26) "" else i / 26}"

  def apply(text: String): JoinGraph = new Reader(text).graph

  /** Parses a tree such as `((A B) C)`, with the relation names of the graph. */
  def shape(text: String, graph: JoinGraph): Shape = {
    val tokens        = "[()]|[A-Z]\\d*".r.findAllIn(text).toVector.iterator.buffered
    def read(): Shape =
      if (tokens.head == "(") {
        tokens.next(); val (l, r) = (read(), read()); assert(tokens.next() == ")", text); Shape.Join(l, r)
      } else { val n = tokens.next(); Shape.Leaf(graph.relations.indexWhere(_.name == n)) }
    read()
  }

  /** The left-deep tree of the relations, in the order of the graph. */
  def leftDeep(graph: JoinGraph): Shape =
    graph.relations.indices.map(i => Shape.Leaf(i): Shape).reduceLeft((l, r) => Shape.Join(l, r))

  private class Reader(text: String) {
    private val relations  = mutable.ArrayBuffer.empty[(String, Map[String, Double], Boolean)]
    private val keys       = mutable.Map.empty[String, Set[Set[Long]]].withDefaultValue(Set.empty)
    private val files      = mutable.Map.empty[String, Set[Long]].withDefaultValue(Set.empty)
    private val hashed     = mutable.Map.empty[String, Set[Long]].withDefaultValue(Set.empty)
    private var above      = Option.empty[Clustering]
    private val columns    = mutable.LinkedHashMap.empty[(String, String), Map[String, Double]]
    private val equalities = mutable.ArrayBuffer.empty[Vector[(String, String)]]
    private val predicates =
      mutable.ArrayBuffer.empty[(Vector[String], Option[(Vector[String], Vector[String])], Double)]

    text.split("[;\n]").map(_.replaceAll("#.*", "").trim).filter(_.nonEmpty).foreach {
      case RelationIs(name, rows, base, rest) =>
        val facts = Map("rows" -> rows.toDouble) ++ Option(base).map("base" -> _.toDouble) ++ numbers(rest)
        relations += ((name, facts, rest.split(" ").contains("broadcast")))
      case KeyIs(name, cs)          => keys(name) += cs.split(",").map(c => id(name, c)).toSet
      case FilesAre(name, cs)       => files(name) ++= cs.split(",").map(id(name, _))
      case HashedBy(name, cs)       => hashed(name) ++= cs.split(",").map(id(name, _))
      case ColumnIs(name, c, facts) => add(name, c, numbers(facts))
      case GroupedBy(cs, n, nanos)  =>
        val ids = cs.split(",").map(_.split("\\.")).map(c => id(c(0), c(1)))
        above = Some(Clustering(ids.toSet, n.toDouble, 1.0, nanos.toDouble))
      case Predicate(names, s)       => predicates += ((names.split("~").toVector, None, s.toDouble))
      case Hyperedge(left, right, s) =>
        val (l, r) = (left.split("\\+").toVector, right.split("\\+").toVector)
        predicates += ((l ++ r, Some((l, r)), s.toDouble))
      case equality =>
        equalities += equality.split("=").toVector.map {
          case MemberIs(name, c, ndv) => add(name, c, Option(ndv).map("ndv" -> _.toDouble).toMap); (name, c)
          case other => throw new IllegalArgumentException(s"'$other' in '$equality' is no statement of this language")
        }
    }

    private def numbers(facts: String): Map[String, Double] =
      "(\\w+)=(\\S+)".r.findAllMatchIn(facts).map(m => m.group(1) -> m.group(2).toDouble).toMap
    private def add(name: String, c: String, facts: Map[String, Double]): Unit =
      columns((name, c)) = columns.getOrElse((name, c), Map.empty) ++ facts
    private def id(name: String, c: String): Long = name.hashCode * 1000L + c.hashCode
    private def index(name: String): Int = relations.indexWhere(_._1 == name).ensuring(_ >= 0, s"no relation $name")

    private def profile(name: String, c: String): ColumnProfile = {
      val facts = columns((name, c))
      ColumnProfile(
        ndv = facts.get("ndv"),
        domain = facts.get("domain").orElse(facts.get("ndv")),
        nulls = facts.get("nulls"),
        min = facts.get("min"),
        max = facts.get("max"),
        frequent = facts.get("top").map(share => Frequencies(Vector(FrequentValue(0L, None, share)), complete = false))
      )
    }

    /** Equivalence classes: equalities that share a column belong to one class, by transitivity. */
    private def classes: Vector[Vector[(String, String)]] =
      equalities.foldLeft(Vector.empty[Vector[(String, String)]]) { (found, members) =>
        val (touching, apart) = found.partition(_.exists(members.contains))
        apart :+ (touching.flatten ++ members).distinct
      }

    def graph: JoinGraph = JoinGraph(
      relations.toVector.zipWithIndex.map { case ((name, facts, broadcast), i) =>
        val rows     = Estimate(facts("rows"), 0.0, facts.getOrElse("upper", facts("rows")), Source.Catalog)
        val cs       = columns.keys.collect { case (`name`, c) => id(name, c) -> profile(name, c) }.toMap
        val profile_ = RelationProfile(rows, cs, facts.getOrElse("base", facts("rows")), keys(name))
        Relation(
          i,
          name,
          profile_,
          RowBytes.fixed(facts.getOrElse("bytes", 100.0) - Assumptions.RowOverhead),
          broadcast,
          partitions = files(name),
          hashedBy = hashed(name),
          tasks = facts.getOrElse("tasks", Double.PositiveInfinity)
        )
      },
      classes.zipWithIndex.map { case (members, i) =>
        EquivalenceClass(
          i,
          members.map { case (name, c) => Member(index(name), profile(name, c), Set(id(name, c)), s"$name.$c") }
        )
      },
      predicates.toVector.zipWithIndex.map { case ((names, sides, s), i) =>
        def indexes(ns: Vector[String]) = ns.map(index).sorted
        JoinPredicate(i, indexes(names), s, sides.map { case (l, r) => (indexes(l), indexes(r)) }, names.mkString("~"))
      },
      above = above
    )
  }
}

package dovetail.kernel.graph

import scala.collection.immutable.BitSet

import dovetail.kernel.profile.{Assumptions, ColumnProfile, Estimate, RelationProfile, RelationSample, RowBytes}

/**
 * One input of a join group, which the search treats as a whole: a table with its predicates, an aggregate, an outer
 * join and so on.
 *
 * @param rowBytes      bytes of its columns in memory
 * @param broadcastable whether the engine would broadcast this input as it is, because its own size is below the
 *                      engine's threshold
 * @param sample        some of its rows, if a sample exists
 * @param partitions    columns by whose values its files are partitioned
 * @param copies        number of times that the query reads this same input, including this one
 * @param hashedBy      columns by whose hash its rows are partitioned when they leave it (buckets, a grouping); each of
 *                      them occurs in join keys only as it is
 * @param tasks         about how many tasks read it; infinite if that is unknown
 */
final case class Relation(
    index: Int,
    name: String,
    profile: RelationProfile,
    rowBytes: RowBytes,
    broadcastable: Boolean,
    sample: Option[RelationSample] = None,
    partitions: Set[Long] = Set.empty,
    copies: Int = 1,
    hashedBy: Set[Long] = Set.empty,
    tasks: Double = Double.PositiveInfinity
) {

  /** Average bytes of a row in memory. */
  def width: Double = rowBytes.mean + Assumptions.RowOverhead

  /** Bytes of its table in memory before its predicates, which a second read of it reads. */
  def tableBytes: Double = math.max(profile.baseRows, profile.rows.value) * width

  /** The same relation with a better known number of rows. Its sample then counts as a sample of that many rows. */
  def withRows(rows: Estimate): Relation = copy(
    profile = profile.copy(
      rows = rows.bounded(profile.rows.upper),
      columns = profile.columns.map { case (id, c) => id -> c.ofAtLeast(rows.value) },
      baseRows = math.max(profile.baseRows, rows.value)
    ),
    sample = sample.filter(s => s.rows > 0 && s.rows <= rows.value).map(s =>
      s.copy(complete = s.complete && s.rows == rows.value, fraction = s.rows / rows.value)
    )
  )
}

/**
 * An expression over one relation that is equal to all other members of its class. `text` is for people. `columns`
 * holds the caller's id of the column that the expression is computed from, if different values of that column always
 * give different values of the expression. `nullsMeet` tells whether NULL equals NULL (`<=>`), which is so only in
 * equalities of operators.
 */
final case class Member(
    relation: Int,
    column: ColumnProfile,
    columns: Set[Long],
    text: String,
    nullsMeet: Boolean = false
)

/**
 * An equivalence class: expressions over several relations that equality predicates make equal. `a.x = b.y AND b.y =
 * c.z` is one class of three members, so it joins a with c as well.
 *
 * @param hashable whether the engine can hash the members. Otherwise a join by this class sorts both of its inputs,
 *                 even if it has other keys as well.
 */
final case class EquivalenceClass(index: Int, members: Vector[Member], hashable: Boolean = true) {
  require(members.size >= 2, "a class has at least two members")
  val relations: Vector[Int] = members.map(_.relation).distinct.sorted

  /** The first member that belongs to a relation. */
  def memberOf(relation: Int): Option[Member] = members.find(_.relation == relation)

  /**
   * NDV of the domain that the members draw their values from: the largest known domain. If no domain is known, it is
   * the number of rows of the smallest relation, on the assumption that the column is the key of that relation. If a
   * table is joined with itself on a column, that column is hardly its key (`cd1.status = cd2.status` makes many
   * pairs), so the NDV is then at most `Assumptions.AttributeNdv`.
   */
  def domain(relations: Vector[Relation]): Double = {
    val smallest  = members.map(m => relations(m.relation).profile.baseRows).min
    val origins   = members.groupBy(_.relation).toVector.sortBy(_._1).flatMap(_._2.flatMap(_.column.origin).distinct)
    val meetsSelf = origins.size > origins.distinct.size
    members.flatMap(_.column.domain).reduceOption(_ max _).getOrElse(if (meetsSelf)
      math.min(smallest, Assumptions.AttributeNdv)
    else smallest)
  }
}

/**
 * A predicate of inner joins, or of a filter above joins, that is not a member of an equivalence class.
 *
 * @param relations   all relations that it reads, ascending; two or more, or one that lies in a closed side of an
 *                    operator below the predicate (`WHERE b.x IS NULL` above a left outer join)
 * @param selectivity share of the pairs that it keeps
 * @param sides       for an equality between expressions over several relations (`a.x + b.y = c.z`): the relations of
 *                    each side. A hash join can use such an equality, and the search sees it as a hyperedge.
 * @param scope       in a graph with operators: the relations below the place where the predicate was written,
 *                    ascending. The operators among these relations were joined before it. None if it was written above
 *                    all operators.
 * @param partnerless index of the left outer join of which the predicate keeps the rows without a partner
 *                    (`WHERE b.key IS NULL`, the way to write NOT EXISTS with an outer join)
 */
final case class JoinPredicate(
    index: Int,
    relations: Vector[Int],
    selectivity: Double,
    sides: Option[(Vector[Int], Vector[Int])],
    text: String,
    scope: Option[Vector[Int]] = None,
    partnerless: Option[Int] = None
) {
  require(relations.nonEmpty && relations == relations.distinct.sorted, s"relations of a join predicate: $relations")
  require(
    scope.forall(s => relations.forall(s.contains)),
    s"a predicate reads $relations, of which not all are in its scope $scope"
  )
  require(selectivity >= 0.0 && selectivity <= 1.0, s"selectivity $selectivity")
  require(
    sides.forall { case (l, r) => l.nonEmpty && r.nonEmpty && (l ++ r).sorted == relations },
    s"sides $sides do not split the relations $relations"
  )
}

/**
 * A group of relations connected by joins, which is the input of the search. It can have any number of relations. Inner
 * joins are given as classes and predicates. `operators` are the other joins, bottom-up in the order in which they were
 * written; they decide which sets may be joined ([[ConflictRules]], [[Joinable]]).
 *
 * Edges connect relations that can be joined without a cross product. They are all pairs within an equivalence class,
 * the pairs of two-relation predicates, and the hyperedges of equalities over several relations. A predicate over three
 * or more relations that is not an equality connects nothing: the join that adds its last relation applies it.
 *
 * @param sizes known rows of joins of two or more relations, better than any estimate
 * @param above operator that reads the joined rows, if it needs them clustered; each of its columns occurs in join keys
 *              only as it is
 */
final case class JoinGraph(
    relations: Vector[Relation],
    classes: Vector[EquivalenceClass],
    predicates: Vector[JoinPredicate],
    operators: Vector[Operator] = Vector.empty,
    sizes: Map[Set[Int], KnownSize] = Map.empty,
    above: Option[Clustering] = None
) {
  require(
    sizes.keys.forall(set => set.size > 1 && set.forall(relations.indices.contains)),
    s"sizes of joins: $sizes"
  )
  require(
    relations.nonEmpty && relations.zipWithIndex.forall { case (r, i) => r.index == i },
    "relations are numbered from 0"
  )
  require(classes.zipWithIndex.forall { case (c, i) => c.index == i }, "classes are numbered from 0")
  require(
    (classes.flatMap(_.relations) ++ predicates.flatMap(_.relations)).forall(relations.indices.contains),
    "an edge names an unknown relation"
  )
  require(
    operators.zipWithIndex.forall { case (o, i) => o.index == i && o.relations.forall(relations.indices.contains) },
    "operators are numbered from 0"
  )
  require(nested, "operators come bottom-up, and each lies in one side of those above it")

  /** The same graph with more known sizes of relations and joins, in addition to those that it already has. */
  def knowing(more: Map[Set[Int], KnownSize]): JoinGraph = {
    val (one, several) = more.partition(_._1.size == 1)
    val of             = one.map { case (set, size) => set.head -> size }
    copy(
      relations = relations.map(r => of.get(r.index).fold(r)(size => r.withRows(size.rows(r.profile.rows)))),
      sizes = sizes ++ several
    )
  }

  private def nested: Boolean = {
    val (lefts, rights)       = (operators.map(o => BitSet(o.left: _*)), operators.map(o => BitSet(o.right: _*)))
    val both                  = operators.map(o => BitSet(o.relations: _*))
    def apart(b: Int, a: Int) =
      Words.within(both(b), lefts(a)) || Words.within(both(b), rights(a)) || (both(b) & both(a)).isEmpty
    operators.indices.forall(a => (0 until a).forall(apart(_, a)))
  }

  val levels: Levels = new Levels(operators)
  require(
    classes.forall(_.relations.map(levels.levelOf(_)).distinct.size == 1),
    "a class has members on both sides of an operator that does not let its equality through"
  )
  require(
    predicates.forall(p =>
      p.relations.size > 1 || !levels.pure(p.relations, p.scope.getOrElse(relations.indices.toVector))
    ),
    "a predicate over one relation that no operator comes before belongs to the relation"
  )

  def size: Int = relations.size

  /** Decides which sets may be joined. */
  lazy val joinable: Joinable = new Joinable(this)

  /** Relations that must be joined before a predicate is applied. */
  def neededBy(p: JoinPredicate): BitSet =
    if (operators.isEmpty) BitSet(p.relations: _*) else joinable.conflicts.predicates(p.index).all

  /** The edges of a graph with operators. */
  lazy val edges: Edges = new Edges(this)

  /** For each relation, the indexes of its classes, ascending. */
  lazy val classesOf: Vector[Vector[Int]] = {
    val found = Array.fill(size)(Vector.newBuilder[Int])
    for (c <- classes; r <- c.relations) found(r) += c.index
    found.map(_.result()).toVector
  }

  /** Classes that two relations have in common, ascending. */
  def sharedClasses(a: Int, b: Int): Vector[Int] = classesOf(a).filter(classesOf(b).contains)

  /** Whether the engine can hash all classes by which an inner join of these two sets finds its pairs. */
  def hashable(left: Seq[Int], right: Seq[Int]): Boolean =
    classes.forall(c => c.hashable || !c.relations.exists(left.contains) || !c.relations.exists(right.contains))

  /** Whether nothing but classes connects relations of the set. */
  def onlyClasses(set: Seq[Int]): Boolean = !predicates.exists(_.relations.forall(set.contains))

  /**
   * The classes, followed by the equalities of the operators in the same form, by which a relation may be filtered with
   * the keys of another one ([[filters]]). Samples number them alike ([[RelationSample]]).
   */
  lazy val keys: Vector[EquivalenceClass] = classes ++ operators.flatMap(_.equalities).zipWithIndex.map {
    case ((left, right), i) => EquivalenceClass(classes.size + i, Vector(left, right))
  }

  // for each equality of the operators, its operator
  private lazy val operatorOf: Vector[Operator] = operators.flatMap(o => o.equalities.map(_ => o))

  /**
   * Whether rows of `reduced` may be dropped if they have no partner in `source` by an equality, whatever rows there
   * are: no row of the result would change. That holds outside all closed sides. It also holds for the right side of an
   * operator, if its left rows come from the source: of a row of the result, no partner is dropped. Other left rows may
   * gain or lose a partner only if the source has no such rows.
   *
   * @param k index of [[keys]]
   */
  def filters(k: Int, reduced: Int, source: Int): Boolean = levels.isTop(source) &&
    keys(k).memberOf(source).isDefined && keys(k).memberOf(reduced).isDefined && source != reduced &&
    (if (k < classes.size) levels.isTop(reduced)
     else {
       val o = operatorOf(k - classes.size)
       o.kind != JoinKind.FullOuter && (o.execution == Operator.ByKeys || o.execution == Operator.BySorting) &&
       o.right.contains(reduced) && levels.levelOf(reduced) == Levels.right(o.index)
     })

  /** Joint NDV of a relation's members in several classes, or None if nobody counted it. */
  def groupNdv(relation: Int, of: Iterable[Int]): Option[Double] = {
    val columns = of.flatMap(c => classes(c).memberOf(relation)).map(_.columns)
    if (columns.forall(_.size == 1)) relations(relation).profile.groups.get(columns.flatten.toSet) else None
  }

  /** Hyperedges with more than one relation on a side. */
  val hyperedges: Vector[(Vector[Int], Vector[Int])] = predicates.flatMap(_.sides).filter { case (l, r) =>
    l.size + r.size > 2
  }

  /** For each relation, the relations that share a two-relation edge with it, ascending. */
  val neighbors: Vector[Vector[Int]] = {
    val sets                        = Vector.fill(size)(scala.collection.mutable.BitSet.empty)
    def connect(rs: Seq[Int]): Unit = for (a <- rs; b <- rs if a != b) sets(a) += b
    classes.foreach(c => connect(c.relations))
    predicates.foreach(p => if (p.relations.size == 2) connect(p.relations))
    sets.map(_.toVector)
  }

  /**
   * Relations by connected component, each ascending, in order of their first relation. A hyperedge connects two
   * components only if each contains one of its sides completely: `a.x + b.y = c.z` alone connects nothing, because `a`
   * and `b` must be joined first.
   */
  lazy val components: Vector[Vector[Int]] = {
    val forest = new Forest(size)
    for (a <- relations.indices; b <- neighbors(a)) forest.link(a, b)
    while (
      hyperedges.exists { case (l, r) => forest.together(l) && forest.together(r) && forest.link(l.head, r.head) }
    ) {}
    forest.trees
  }
}

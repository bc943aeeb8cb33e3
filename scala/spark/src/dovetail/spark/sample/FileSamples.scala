package org.apache.spark.sql.dovetail.sample

import java.util.IdentityHashMap
import java.util.concurrent.atomic.AtomicInteger

import org.apache.spark.sql.catalyst.expressions.{AttributeSet, Expression}
import org.apache.spark.sql.catalyst.plans.logical.LeafNode
import org.apache.spark.sql.dovetail.base.{DovetailConf, FailOpen, SharedMemory}
import org.apache.spark.sql.dovetail.base.FailOpen.Survivable
import org.apache.spark.sql.dovetail.deadline.{Aside, PlanningTime, Retry}
import org.apache.spark.sql.dovetail.footers.{FooterReading, FooterStatistics, RowGroups}
import org.apache.spark.sql.dovetail.leaf.LeafNames
import org.apache.spark.sql.dovetail.table.{PrivateColumns, TableSample}
import org.apache.spark.sql.execution.datasources.{HadoopFsRelation, LogicalRelation}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{StructField, StructType}

/**
 * Samples of tables without collected statistics. The rows are read from the files of a table while a query is planned
 * ([[FileSample]]), for the columns that the predicates and joins of the query read, and cached for later queries
 * ([[FileSampleCache]]). One instance serves one run of the rule. It reads in the time that the footers have left.
 */
final class FileSamples(footers: FooterStatistics, settings: ReaderSettings, conf: SQLConf) {
  import FileSamples._

  private val enabled = DovetailConf.SampleFiles.get(conf) && DovetailConf.FootersEnabled.get(conf)
  private val privacy = PrivateColumns(conf)
  private val wanted  = new IdentityHashMap[LeafNode, Vector[SampleRequest]]

  /** Reads that did not begin because of the reads of other queries. */
  private val late = new AtomicInteger

  /** The sample of a leaf, with as many of the wanted columns as have been read in time. */
  def apply(leaf: LeafNode): Option[TableSample] =
    Option(wanted.get(leaf)).flatMap(_.iterator.map(_.found).collectFirst { case Some(Some(sample)) => sample })

  /** A count of the rows of a leaf that a condition keeps; None if its files cannot or may not be read. */
  def count(leaf: LeafNode, condition: Expression): Option[RowCount] =
    reading(leaf, condition, AttributeSet.empty, AttributeSet.empty).map(new RowCount(_))

  /**
   * The rows of a leaf that a condition keeps; None if its files cannot or may not be read.
   *
   * @param keys   columns of join keys, without which the rows are of no use
   * @param others further columns to keep
   */
  def passing(leaf: LeafNode, condition: Expression, keys: AttributeSet, others: AttributeSet): Option[PassingRows] = {
    // columns may have been read before they became private
    if (!privacy.isEmpty)
      located(leaf).foreach { case (relation, groups) =>
        PassingRows.forget(FileSampleCache.key(relation, groups, settings), f => privacy(leaf, f.name))
      }
    reading(leaf, condition, keys, others).map(new PassingRows(_))
  }

  private def reading(
      leaf: LeafNode,
      condition: Expression,
      needed: AttributeSet,
      wanted: AttributeSet
  ): Option[FilteredRead] = located(leaf).flatMap { case (relation, groups) =>
    FilteredRead(
      relation,
      groups,
      FileSampleCache.key(relation, groups, settings),
      leaf.output,
      condition,
      mayRead(leaf, relation),
      needed,
      wanted
    )
  }

  /** The files of a leaf that may be read, and where their rows are. */
  private def located(leaf: LeafNode): Option[(HadoopFsRelation, RowGroups)] =
    for (relation <- files(leaf) if enabled; groups <- footers.rowGroups(leaf)) yield (relation, groups)

  private def mayRead(leaf: LeafNode, relation: HadoopFsRelation)(f: StructField): Boolean =
    FileSample.readable(f.dataType) && !privacy(leaf, f.name) && !isOverlaid(relation, f)

  /**
   * @param tried columns to try predicates on, by leaf
   * @param keys  join keys, by leaf. Those of a table that is not read completely are read after all else, in the
   *              places in which its predicates are tried.
   */
  def readAhead(tried: Seq[(LeafNode, AttributeSet)], keys: Seq[(LeafNode, AttributeSet)]): Unit = if (enabled) {
    def readable(leaf: LeafNode, relation: HadoopFsRelation, columns: AttributeSet) = {
      val names = columns.map(_.name).toSet
      StructType(relation.dataSchema.filter(f => names(f.name) && mayRead(leaf, relation)(f)))
    }
    footers.readAhead(tried.map(_._1).filter(files(_).isDefined), AttributeSet.empty)
    val more   = keys.toMap
    val leaves = tried.map(_._1) ++ keys.map(_._1).filterNot(leaf => tried.exists(_._1 eq leaf))
    for (leaf <- leaves; relation <- files(leaf); groups <- footers.rowGroups(leaf)) {
      lazy val key   = FileSampleCache.key(relation, groups, settings)
      val predicates = tried.find(_._1 eq leaf).fold(AttributeSet.empty)(_._2)
      val all        = predicates ++ more.getOrElse(leaf, AttributeSet.empty)
      val apart      = !FileSample.readsWhole(groups) && all.size > predicates.size
      val parts      = if (apart) Seq(all -> true, predicates -> false) else Seq(all -> false)
      val requests   =
        for ((columns, beside) <- parts; schema = readable(leaf, relation, columns) if schema.nonEmpty)
          yield new SampleRequest(relation, groups, schema, key, beside)
      // columns may have been read before they became private
      if (requests.nonEmpty && !privacy.isEmpty && FileSampleCache.known(key)._1.exists(f => privacy(leaf, f.name)))
        FileSampleCache.remove(key)
      wanted.put(leaf, requests.toVector)
    }
    def requests(of: Seq[LeafNode]) = of.flatMap(leaf => Option(wanted.get(leaf)).getOrElse(Vector.empty))
    val (filtered, others)          = leaves.partition(leaf => tried.exists(_._1 eq leaf))
    def missing(of: Seq[LeafNode], beside: Boolean) = tasks(requests(of).filter(_.beside == beside))
    // without rows, the estimate of a predicate may be off by any factor, but join keys have statistics from footers
    footers.within(missing(filtered, beside = false), missing(others, beside = false), missing(leaves, beside = true))
    val left = late.getAndSet(0)
    if (left > 0) PlanningTime.cut(s"rows of $left tables were not read: reads of other queries did not end in time")
  }

  /** The tasks that read what is not cached yet of these requests. */
  private def tasks(requests: Seq[SampleRequest]): Seq[FooterReading.Task] = {
    val missing = requests.filter(_.found.isEmpty)
    missing.indices.collect {
      // a table that occurs twice in the query is read once, with the columns of both occurrences
      case i if missing.indexWhere(_.key == missing(i).key) == i =>
        new FooterReading.Task(
          missing(i).place,
          missing(i).relation.fileFormat.getClass,
          until => read(missing(i), missing.filter(_.key == missing(i).key).map(_.schema), until)
        )
    }
  }

  private def read(one: SampleRequest, schemas: Seq[StructType], until: Long): Unit =
    try if (!ReadsUnderWay.alone(one.key, until)(readAlone(one, schemas, until))) late.incrementAndGet()
    catch { case SharedMemory.NoFreeMemory => late.incrementAndGet() }

  private def readAlone(one: SampleRequest, schemas: Seq[StructType], until: Long): Unit = {
    val (known, before) = FileSampleCache.known(one.key)
    val more            = StructType(schemas.flatten.distinct.filterNot(known.contains))
    val asked           = StructType(known ++ more)
    val places          = before.filter(_ => one.beside).map(_.clusters.size)
    def rows(columns: StructType, inside: Boolean = false) =
      new FileSample(one.relation, one.groups, columns, places, inside).read(until)
    def sample =
      before.fold(rows(more))(b =>
        rows(more, b.inside).fold(before)(FileSamples.together(b, _)).orElse(rows(asked, b.inside))
      )
    // another query may have read them meanwhile
    if (more.nonEmpty)
      try FileSampleCache.put(one.key, asked, sample)
      catch {
        // the next query reads them
        case SharedMemory.NoFreeMemory => throw SharedMemory.NoFreeMemory
        case Survivable(e)             =>
          val files = LeafNames.together(one.relation.location.rootPaths)
          FailOpen.warnOnce(
            s"sample $files",
            s"Rows of $files cannot be read for estimates. Formulas are used instead: $e"
          )
          FileSampleCache.put(one.key, asked, None, Retry.after(e))
      }
  }
}

object FileSamples {

  /**
   * What to read for a leaf.
   *
   * @param beside whether columns are only wanted of the rows that are read already
   */
  final private class SampleRequest(
      val relation: HadoopFsRelation,
      val groups: RowGroups,
      val schema: StructType,
      val key: FileSampleCache.Key,
      val beside: Boolean
  ) {
    private var cached = Option.empty[Option[TableSample]]

    /** What the cache has; it is not asked again once it has something. */
    def found: Option[Option[TableSample]] = {
      if (cached.isEmpty) cached = FileSampleCache.get(key, schema)
      cached
    }

    def place: String = Aside.table(groups.files.head._1.getPath)
  }

  /**
   * The same rows with the columns of both samples, or None if the samples have different rows. A second read takes the
   * same rows as the first one, unless wide columns reduce the number of places.
   */
  private def together(a: TableSample, b: TableSample): Option[TableSample] =
    if (a.rows.length != b.rows.length || a.clusters != b.clusters || a.of != b.of || a.inside != b.inside) None
    else {
      val rows = a.rows.beside(b.rows)
      Some(a.copy(schema = rows.schema, rows = rows, counts = a.counts ++ b.counts))
    }

  /**
   * Whether a partition column has the same name. Spark then returns the partition value, not the value in the file.
   */
  private def isOverlaid(relation: HadoopFsRelation, column: StructField): Boolean =
    relation.partitionSchema.exists(_.name.equalsIgnoreCase(column.name))

  private def files(leaf: LeafNode): Option[HadoopFsRelation] = leaf match {
    case r: LogicalRelation => r.relation match { case f: HadoopFsRelation => Some(f); case _ => None }
    case _                  => None
  }
}

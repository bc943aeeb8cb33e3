package org.apache.spark.sql.dovetail.leaf

import org.apache.spark.sql.catalyst.plans.logical.LeafNode
import org.apache.spark.sql.types.{DataType, StructType}

/**
 * Columns of a scan that are paths of VARIANT values, which the scan extracts and converts (from Spark 4.1 on). In the
 * plan, such a column is a struct; the metadata of a field contain its path, its type, and whether a value of another
 * type is an error.
 */
object ExtractedVariants {

  /** Types of these columns. */
  def apply(leaf: LeafNode): Seq[DataType] = leaf.output.map(_.dataType).filter(_.existsRecursively {
    case s: StructType => s.fields.exists(_.metadata.contains(Path))
    case _             => false
  })

  /** Metadata key of an extracted path (`VariantMetadata.METADATA_KEY` in Spark). */
  private val Path = "__VARIANT_METADATA_KEY"
}

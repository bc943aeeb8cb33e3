package org.apache.spark.sql.dovetail

import org.apache.spark.sql.catalyst.expressions.{Attribute, AttributeReference}
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, LogicalPlan}
import org.apache.spark.sql.types.LongType

/** A leaf that counts how often its canonical form is made. */
final case class CountedForms(columns: Int = 1) extends LeafNode {
  var forms = 0

  override val output: Seq[Attribute] = (0 until columns).map(i => AttributeReference(s"c$i", LongType)())
  override protected def doCanonicalize(): LogicalPlan = { forms += 1; CountedForms.Form }
}

object CountedForms {
  private val Form = CountedForms(0)
}

package org.apache.spark.sql.dovetail.leaf

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.{BufferUnderflowException, ByteBuffer, ByteOrder}

/**
 * The strings in a pickle (Python's protocols 4 and 5), by its opcodes: nothing is built, and nothing is run. With them
 * one sees which functions a pickled function is made of, for cloudpickle names each.
 */
object PickledStrings {

  /** None where an opcode is not known, or the bytes end too soon. */
  def apply(pickle: Array[Byte]): Option[Vector[String]] = {
    val in    = ByteBuffer.wrap(pickle).order(ByteOrder.LITTLE_ENDIAN)
    val found = Vector.newBuilder[String]

    def skip(bytes: Long): Boolean = bytes >= 0 && bytes <= in.remaining && {
      in.position(in.position() + bytes.toInt); true
    }
    def string(bytes: Long): Boolean = bytes >= 0 && bytes <= in.remaining && {
      val text = new Array[Byte](bytes.toInt)
      in.get(text)
      found += new String(text, UTF_8)
      true
    }
    def known(op: Int): Boolean = op match {
      case 0x8c                                  => string(in.get() & 0xffL)
      case 'X'                                   => string(in.getInt().toLong)
      case 0x8d                                  => string(in.getLong())
      case 'C' | 0x8a                            => skip(in.get() & 0xffL)
      case 'B' | 0x8b                            => skip(in.getInt().toLong)
      case 0x8e | 0x96                           => skip(in.getLong())
      case 0x80 | 'K' | 'h' | 'q'                => skip(1L)
      case 'M'                                   => skip(2L)
      case 'J' | 'j' | 'r'                       => skip(4L)
      case 0x95 | 'G'                            => skip(8L)
      case _ if PickledStrings.Bare.contains(op) => true
      case _                                     => false
    }
    try {
      var op = in.get() & 0xff
      while (op != Stop && known(op)) op = in.get() & 0xff
      if (op == Stop && !in.hasRemaining) Some(found.result()) else None
    } catch { case _: BufferUnderflowException => None }
  }

  private val Stop: Int = '.'

  /** Opcodes without an argument. */
  private val Bare: Set[Int] = "()N}]t0Rbsuaeld012".map(_.toInt).toSet ++
    Set(0x81, 0x85, 0x86, 0x87, 0x88, 0x89, 0x8f, 0x90, 0x91, 0x92, 0x93, 0x94)
}

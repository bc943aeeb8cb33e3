package org.apache.spark.sql.dovetail.leaf

import java.nio.charset.StandardCharsets.UTF_8
import java.nio.{ByteBuffer, ByteOrder}

import scala.collection.mutable.ArrayBuffer
import scala.util.control.NonFatal

/**
 * The contents of a Python pickle, read by its opcodes (protocols 4 and 5, which pyspark writes): its collections, and
 * the functions and classes that it names. Reading it looks up nothing and calls nothing; a call that the pickle asks
 * for becomes a `Call` here.
 *
 * @param value value that the pickle describes
 * @param names all functions and classes that the pickle looks up by name
 * @param calls all calls, in their order
 */
final class Pickle private (
    val value: Pickle.Value,
    val names: Vector[Pickle.Name],
    val calls: Vector[Pickle.Call]
)

object Pickle {

  sealed trait Value

  case object NoValue extends Value

  /** A number, a Boolean or bytes. */
  case object Plain extends Value

  final case class Text(text: String) extends Value

  /** A list, a tuple or a set. */
  final class Items(val items: ArrayBuffer[Value]) extends Value

  final class Entries(val entries: ArrayBuffer[(Value, Value)]) extends Value

  final case class Name(module: String, name: String) extends Value

  /** The result of a call; equal only to itself. */
  final class Call(val what: Value, val arguments: Seq[Value]) extends Value

  /** Reads a pickle; None if an opcode is unknown, or if the bytes end too soon. */
  def apply(bytes: Array[Byte]): Option[Pickle] =
    try Some(new Reader(ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN)).read())
    catch { case NonFatal(_) => None }

  private def require(holds: Boolean): Unit = if (!holds) throw new IllegalArgumentException("a pickle")

  private val Stop: Int = '.'

  /** Interpreter of Python's pickle opcodes, which Python's module `pickletools` describes. */
  final private class Reader(in: ByteBuffer) {
    private val stack = ArrayBuffer.empty[Value]
    private val marks = ArrayBuffer.empty[Int]
    private val memo  = ArrayBuffer.empty[Value]
    private val names = Vector.newBuilder[Name]
    private val calls = Vector.newBuilder[Call]

    def read(): Pickle = {
      var op = byte()
      while (op != Stop) {
        step(op)
        op = byte()
      }
      require(stack.size == 1 && !in.hasRemaining)
      new Pickle(stack.head, names.result(), calls.result())
    }

    private def step(op: Int): Unit = op match {
      case 0x80 => skip(1L)
      case 0x95 => skip(8L)
      case '('  => marks += stack.size
      case '0'  => pop()
      case '1'  => sinceMark()
      case '2'  => push(stack.last)
      // constants
      case 'N'         => push(NoValue)
      case 0x88 | 0x89 => push(Plain)
      case 'K'         => plain(1L)
      case 'M'         => plain(2L)
      case 'J'         => plain(4L)
      case 'G'         => plain(8L)
      case 0x8a | 'C'  => plain(byte().toLong)
      case 0x8b | 'B'  => plain(in.getInt().toLong)
      case 0x8e | 0x96 => plain(in.getLong())
      case 0x8c        => push(text(byte().toLong))
      case 'X'         => push(text(in.getInt().toLong))
      case 0x8d        => push(text(in.getLong()))
      // collections
      case ']' | 0x8f | ')' => push(new Items(ArrayBuffer.empty))
      case '}'              => push(new Entries(ArrayBuffer.empty))
      case 't' | 0x91       => push(new Items(sinceMark()))
      case 0x85             => push(new Items(pop(1)))
      case 0x86             => push(new Items(pop(2)))
      case 0x87             => push(new Items(pop(3)))
      case 'a'              => add(pop(1))
      case 'e' | 0x90       => add(sinceMark())
      case 's'              => put(pop(2))
      case 'u'              => put(sinceMark())
      // functions and objects
      case 0x93       => name()
      case 'R' | 0x81 => call(pop(2))
      case 0x92       => call(pop(3))
      case 'b'        =>
        pop()
        require(stack.last.isInstanceOf[Call])
      // references to earlier values
      case 0x94 => memo += stack.last
      case 'h'  => push(memo(byte()))
      case 'j'  => push(memo(in.getInt()))
      case _    => require(false)
    }

    private def byte(): Int = in.get() & 0xff

    private def skip(bytes: Long): Unit = {
      require(bytes >= 0 && bytes <= in.remaining)
      in.position(in.position() + bytes.toInt)
    }

    private def push(value: Value): Unit = stack += value

    private def plain(bytes: Long): Unit = {
      skip(bytes)
      push(Plain)
    }

    private def text(bytes: Long): Text = {
      val from = in.position()
      skip(bytes)
      Text(new String(in.array, from, bytes.toInt, UTF_8))
    }

    private def pop(): Value = pop(1).head

    private def pop(count: Int): ArrayBuffer[Value] = {
      val from = stack.size - count
      require(from >= marks.lastOption.getOrElse(0))
      takeFrom(from)
    }

    private def sinceMark(): ArrayBuffer[Value] = takeFrom(marks.remove(marks.size - 1))

    private def takeFrom(from: Int): ArrayBuffer[Value] = {
      val taken = stack.slice(from, stack.size)
      stack.remove(from, stack.size - from)
      taken
    }

    // the result of a call may be a collection, too: an object of a user-defined class
    private def add(values: ArrayBuffer[Value]): Unit = stack.last match {
      case list: Items => list.items ++= values
      case other       => require(other.isInstanceOf[Call])
    }

    private def put(values: ArrayBuffer[Value]): Unit = {
      require(values.size % 2 == 0)
      stack.last match {
        case map: Entries => values.grouped(2).foreach(e => map.entries += ((e(0), e(1))))
        case other        => require(other.isInstanceOf[Call])
      }
    }

    private def name(): Unit = pop(2) match {
      case ArrayBuffer(Text(module), Text(name)) =>
        val found = Name(module, name)
        names += found
        push(found)
      case _ => require(false)
    }

    private def call(parts: ArrayBuffer[Value]): Unit = parts(1) match {
      case arguments: Items =>
        // keyword arguments come last: no function of interest has them
        val made = new Call(parts.head, arguments.items.toVector ++ parts.drop(2))
        calls += made
        push(made)
      case _ => require(false)
    }
  }
}

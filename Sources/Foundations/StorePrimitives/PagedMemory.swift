import CPagedMemory

/// Memory for columns, the bytes of files and output, in large pages where the system has them.
///
/// Not Swift's own allocation, which ends the process if there is not enough memory, and whose blocks cannot grow where
/// they are.
package enum PagedMemory {
  /// A block with the contents of another one, as far as they fit, which is gone then; a new block for nil. The bytes
  /// that are new are undefined. Nil if there is not enough memory.
  package static func resized(_ block: UnsafeMutableRawPointer?, to bytes: Int) -> UnsafeMutableRawPointer? {
    asf_paged_resize(block, bytes)
  }

  /// A block whose bytes are zero, in small pages: what is not written to takes no memory. Nil if there is not enough
  /// memory.
  package static func zeroed(_ bytes: Int) -> UnsafeMutableRawPointer? { asf_paged_zeroed(max(bytes, 0)) }

  /// Whether the system would provide a block of that size now: a load asks before its columns grow, and fails with an
  /// error if not.
  package static func hasRoom(for bytes: Int) -> Bool { asf_paged_has_room(max(bytes, 0)) }

  /// As ``resized(_:to:)`` for code that cannot throw.
  ///
  /// Ends the program if there is not enough memory, as Swift's own allocation does: the contents would be lost
  /// otherwise. A load does not come here with a size from a file: its bytes, columns, references and what finds them
  /// are allocated by ``resized(_:to:)``, and a load without memory for them throws. What is left are:
  /// - blocks of sixteen bytes,
  /// - copies of Swift arrays and of columns that are in memory already (`StoreBytes.init(_:)`, tables that are edited,
  ///   put in order or saved), of the same size or half as much again, where Swift would end the program, too,
  /// - edits of objects, whose values are in memory,
  /// - the buffer of a `ByteWriter`: 1 MB, or what a format collects before it passes it on, and one row more. A byte
  ///   of a value that is in memory becomes at most six (`&quot;`, `\u0000`), and the room for them doubles, where a
  ///   Swift array's would, too.
  package static func required(_ block: UnsafeMutableRawPointer?, to bytes: Int) -> UnsafeMutableRawPointer {
    guard let memory = resized(block, to: bytes) else { endProgram(bytes) }
    return memory
  }

  /// Ends the program if memory runs out where an error cannot be thrown, as Swift's arrays do.
  package static func endProgram(_ bytes: Int) -> Never {
    // Not reachable by what a file says of sizes: a load asks for memory only by `tryToGrow`, `tryToReserveCells`,
    // `tryToReallocateHeap` and `resized(_:to:)`, which fail, and throws. What calls this copies, edits or writes
    // values that are in memory already, in a small multiple of their size; `required(_:to:)` has the list. Every Swift
    // array of the same values would end the program at the same place.
    preconditionFailure("not enough memory for \(bytes) bytes")
  }

  /// Releases a block.
  package static func free(_ block: UnsafeMutableRawPointer) { asf_paged_free(block) }

  /// Says whether the part of a block from its first large page to its last one is to be in large pages: not where
  /// little of each will be used. Without effect on memory that is in use already, and on small blocks.
  package static func useLargePages(_ isWanted: Bool, for part: UnsafeMutableRawBufferPointer) {
    asf_paged_advise(part.baseAddress, part.count, isWanted)
  }

  /// The room that a block needs beyond its bytes, so that the bytes of others can be moved to its end.
  package static let spare = 2 << 20
  /// Shorter blocks cannot be moved.
  package static let leastMoved = 4 << 20

  /// Moves the first bytes of a large block to a place in another one instead of copying them: see `asf_paged_move`.
  ///
  /// - Returns: Whether they were moved, and the block is gone. Otherwise nothing was changed.
  package static func move(
    _ block: UnsafeMutableRawPointer, bytes: Int, to target: UnsafeMutableRawPointer, at place: Int
  ) -> Bool { asf_paged_move(target, place, block, bytes) != 0 }

  /// Gives memory back to the system that was kept for the next blocks.
  package static func trim() { asf_paged_trim() }

  /// Gives back small blocks, too, which takes milliseconds: after much was loaded in vain.
  package static func trimAll() { asf_trim_all() }

  /// Has what the program allocates itself in large pages, too: see `asf_paged_heap`. For commands, at their start; the
  /// goals of `Benchmarks/run --work requests` need it.
  package static func useLargePagesForHeap() { asf_paged_heap() }

  /// The bytes of all large blocks.
  package static var size: Int { asf_paged_size() }
}

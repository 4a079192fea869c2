import StorePrimitives

/// A list of plain values that grows at its end, in large pages: for what is found in a JSON table of a million
/// records, the system takes a tenth of the whole import to provide small ones. The goal that needs it is that of
/// NDJSON in `Benchmarks/run --work requests`.
final class PagedList<Element: BitwiseCopyable> {
  private var base: UnsafeMutablePointer<Element>?
  private var capacity = 0
  private(set) var count = 0
  var isEmpty: Bool { count == 0 }

  deinit { if let base { PagedMemory.free(base) } }

  /// Makes room for that many elements.
  ///
  /// - Returns: False, with nothing changed, if there is not enough memory.
  @discardableResult func reserve(_ needed: Int) -> Bool {
    guard needed > capacity else { return true }
    let (bytes, overflow) = needed.multipliedReportingOverflow(by: MemoryLayout<Element>.stride)
    guard !overflow, let memory = PagedMemory.resized(base, to: bytes) else { return false }
    base = memory.assumingMemoryBound(to: Element.self)
    capacity = needed
    return true
  }

  /// - Returns: False, with nothing added, if there is not enough memory.
  @inline(__always) func append(_ element: Element) -> Bool {
    if count == capacity, !reserve(max(count * 2, 16)) { return false }
    guard let base else { return false }
    (base + count).initialize(to: element)
    count += 1
    return true
  }

  /// Removes the elements from an index on.
  func truncate(_ index: Int) { count = min(count, index) }

  /// An element, whose index the caller has compared with the count: only debug builds check it here.
  subscript(index: Int) -> Element { elements[index] }

  /// All elements, valid until the list grows.
  var elements: UnsafeBufferPointer<Element> { UnsafeBufferPointer(start: base, count: count) }
}

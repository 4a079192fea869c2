/// The numbers of a data object: where they are in the file's bytes, or copied if numbers cannot be read there.
///
/// Valid as long as the file's bytes.
struct PackedNumbers<Number: FixedWidthInteger & BitwiseCopyable> {
  private let copy: [Number]
  private let place: UnsafeBufferPointer<Number>?

  init(_ bytes: UnsafeRawBufferPointer) {
    let count = bytes.count / MemoryLayout<Number>.size
    if UInt(bitPattern: bytes.baseAddress) % UInt(MemoryLayout<Number>.alignment) == 0 {
      place = UnsafeBufferPointer(start: bytes.baseAddress?.assumingMemoryBound(to: Number.self), count: count)
      copy = []
      return
    }
    place = nil
    copy = [Number](unsafeUninitializedCapacity: count) { buffer, filled in
      UnsafeMutableRawBufferPointer(buffer).copyMemory(from: bytes)
      filled = count
    }
  }

  var span: Span<Number> {
    @_lifetime(borrow self)
    get {
      guard let place else { return copy.span }
      return _overrideLifetime(Span(_unsafeElements: place), borrowing: self)
    }
  }
}

/// An open file that is read at any offset, also by several threads at the same time.
public final class StoreFileReader: Sendable {
  private enum Content: Sendable {
    case descriptor(Int32, path: String)
    case memory(StoreBytes)
  }
  private let content: Content
  /// The size of the file in bytes when it was opened.
  public let size: Int

  init(descriptor: Int32, size: Int, path: String) {
    content = .descriptor(descriptor, path: path)
    self.size = size
  }

  init(_ bytes: StoreBytes) {
    content = .memory(bytes)
    size = bytes.count
  }

  /// Fills a buffer with the bytes at an offset, and returns how many there are: fewer only at the end of the file.
  ///
  /// - Throws: The error of the system call.
  public func read(
    at offset: Int, into buffer: UnsafeMutableRawBufferPointer
  ) throws(PersistentStoreError) -> Int {
    guard let base = buffer.baseAddress, offset >= 0, offset < size else { return 0 }
    let wanted = min(buffer.count, size - offset)
    switch content {
    case .memory(let bytes):
      bytes.withUnsafeBytes { all in
        if let source = all.baseAddress { base.copyMemory(from: source + offset, byteCount: wanted) }
      }
      return wanted
    case .descriptor(let descriptor, let path):
      var done = 0
      while done < wanted {
        let got = try SystemCall.read(
          descriptor, into: base + done, count: wanted - done, at: offset + done, path: path)
        if got == 0 { break }
        done += got
      }
      return done
    }
  }

  /// Reads a range in chunks, each valid until the next one; `body` returns whether to continue.
  ///
  /// - Returns: Whether the whole range was read.
  /// - Throws: The error of a system call.
  public func readChunks(
    in range: Range<Int>, size: Int, _ body: (UnsafeRawBufferPointer) throws(PersistentStoreError) -> Bool
  ) throws(PersistentStoreError) -> Bool {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: max(size, 1), alignment: 16)
    defer { buffer.deallocate() }
    var offset = range.lowerBound
    while offset < range.upperBound {
      let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<min(buffer.count, range.upperBound - offset)])
      let got = try read(at: offset, into: part)
      guard got > 0, try body(UnsafeRawBufferPointer(rebasing: part[..<got])) else { return false }
      offset += got
    }
    return true
  }
}

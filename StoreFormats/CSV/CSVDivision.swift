import AtomicStoreSPI
import StoreCodecs
import Synchronization

/// How a large file is divided into parts, and whether it is the file whose digest was noted.
///
/// Both take a pass over all of it. The first thread that needs the result makes that pass, and others wait for it;
/// meanwhile the thread that reads the first part, which begins at the beginning in any case, does so already.
final class CSVDivision: Sendable {
  struct Parts {
    /// Each but the first begins with a record.
    let ranges: [Range<Int>]
    let hasQuotes: Bool
  }
  private enum State {
    case unknown
    case known(Parts)
    /// The file could not be read, or is another one.
    case failed
  }
  private let state = Mutex(State.unknown)
  private let file: StoreFileReader
  private let digest: String?
  private let sizes: StreamSizes
  /// Where the parts begin about.
  private let pieces: [Range<Int>]

  /// The number of parts, of which the last ones may be empty.
  var count: Int { pieces.count }
  /// An offset up to which everything is in the first part.
  var leastEnd: Int { pieces[0].upperBound }

  /// What the pass takes, compared with reading all records.
  private static let passShare = 0.05

  /// - Parameter digest: What the digest of the file must be; nil for any.
  init(_ file: StoreFileReader, count: Int, digest: String?, _ sizes: StreamSizes) {
    self.file = file
    self.digest = digest
    self.sizes = sizes
    // The first part is longer, for the time of the pass.
    let first =
      count > 1 ? Int(Double(file.size) / Double(count) * (1 + Double(count - 1) * Self.passShare)) : file.size
    let rest = file.size - first
    pieces =
      [0..<first]
      + (1..<max(count, 1)).map { first + rest * ($0 - 1) / (count - 1)..<first + rest * $0 / (count - 1) }
  }

  /// The parts; nil if the file is not as it should be.
  func parts() -> Parts? {
    state.withLock { state in
      if case .unknown = state {
        let found = try? divided()
        state = found.map { .known($0) } ?? .failed
      }
      return Self.parts(state)
    }
  }

  /// The parts if they are known, without waiting for them.
  func knownParts() -> Parts? { state.withLockIfAvailable { Self.parts($0) } ?? nil }

  private static func parts(_ state: State) -> Parts? { if case .known(let parts) = state { parts } else { nil } }

  private func divided() throws(PersistentStoreError) -> Parts? {
    var hash = XXH64()
    var quotes: [Int] = []
    for piece in pieces {
      var found = 0
      let isComplete = try file.readChunks(in: piece, size: sizes.piece) { (bytes) throws(PersistentStoreError) in
        if digest != nil { hash.add(bytes) }
        found += CSVParts.quoteCount(bytes.assumingMemoryBound(to: UInt8.self), in: 0..<bytes.count)
        return true
      }
      guard isComplete else { return nil }
      quotes.append(found)
    }
    guard digest == nil || digest == Digest.text(hash) else { return nil }
    let ranges = try CSVParts.ranges(pieces: pieces, quoteCounts: quotes) {
      offset, isQuoted throws(PersistentStoreError) in try recordStart(from: offset, isQuoted: isQuoted)
    }
    return Parts(ranges: ranges, hasQuotes: quotes.contains { $0 > 0 })
  }

  /// The offset after the first line feed that ends a record, from an offset on; nil if there is none.
  private func recordStart(from start: Int, isQuoted: Bool) throws(PersistentStoreError) -> Int? {
    var isQuoted = isQuoted
    var offset = start
    var found: Int?
    _ = try file.readChunks(in: start..<file.size, size: sizes.head) { (bytes) throws(PersistentStoreError) in
      let text = bytes.assumingMemoryBound(to: UInt8.self)
      found = CSVParts.recordStart(text, from: 0, isQuoted: &isQuoted).map { $0 + offset }
      offset += bytes.count
      return found == nil
    }
    return found
  }
}

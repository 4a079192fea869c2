/// How much a store may be: what a load is refused beyond, before or as soon as it is met.
///
/// Callers set them as options by the names below, whatever the format; the kit takes them out before the format sees
/// its own. An error (`.limitExceeded`) names the limit. The defaults are what the kit can hold at all: lower them for
/// untrusted files.
///
/// Limits on single factors do not bound their products: so what a load makes of a file is bounded by the file's size
/// as well. Opening a file takes at most 64 MB and 64 times its size, of which ``memory(forInput:)`` is the share of
/// the values.
public struct StoreLimits: Sendable, Hashable {
  /// `maximumBytes`: of the file, or of all files of a folder. By default what the memory takes.
  public var bytes = Int.max
  /// `maximumObjects`: of all entities together. By default 2^31 - 1.
  public var objects = Int(Int32.max)
  /// `maximumValueBytes`: of one text, or of the bytes of one value. By default 2^32 - 2, and so much for all values of
  /// a property.
  public var valueBytes = Int(UInt32.max) - 1
  /// `maximumDepth`: arrays and dictionaries in each other, in metadata and models. By default 512, which is the most.
  public var depth = Self.greatestDepth

  /// `maximumMemory`: bytes that the values of all objects take in memory. By default 32 MB and 48 times the size of
  /// the file, or of all files of a folder: more than any objects take that differ in what they have. A file whose
  /// entity has hundreds of properties, each used by some of very many objects that have next to none, may need more.
  public var memory: Int?

  /// What the values that are read from so many bytes may take: ``memory``, or its default.
  public func memory(forInput bytes: Int) -> Int {
    if let memory { return memory }
    let (product, overflow) = bytes.multipliedReportingOverflow(by: 48)
    return overflow ? .max : product.addingReportingOverflow(32 << 20).overflow ? .max : product + (32 << 20)
  }

  func memoryExceeded(at location: StoreLocation) -> PersistentStoreError {
    PersistentStoreError(
      .limitExceeded,
      "the values of all objects, and the room for values that objects do not have, take more memory than the limit 'maximumMemory'"
        + (memory.map { " of \($0)" } ?? ", 32 MB and 48 times the file's size"), at: location)
  }

  /// Readers go down by calling themselves: more would take more stack than a thread has.
  public static let greatestDepth = 512

  /// Creates the default limits.
  public init() {}

  package func exceeded(_ name: String, _ limit: Int, _ what: String, at location: StoreLocation)
    -> PersistentStoreError
  {
    PersistentStoreError(.limitExceeded, "\(what): more than the limit '\(name)' of \(limit)", at: location)
  }
}

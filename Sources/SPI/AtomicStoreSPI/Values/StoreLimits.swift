/// The limits of a load, checked in advance or as soon as they are exceeded.
///
/// Callers set them as options with the names below, for any format; the kit removes them before the format receives
/// its options. The error (`.limitExceeded`) names the limit. The defaults are the maximum that the kit supports: lower
/// them for untrusted files.
///
/// Limits on single factors do not limit their products, so the memory of a load is also limited by the size of the
/// file: opening a file takes at most 64 MB plus 64 times its size, of which `memory(forInput:)` is the share of the
/// values.
public struct StoreLimits: Sendable, Hashable {
  /// `maximumBytes`: the size of the file, or of all files of a directory. By default limited by memory only.
  public var bytes = Int.max
  /// `maximumObjects`: the number of objects of all entities together. By default 2^31 - 1.
  public var objects = Int(Int32.max)
  /// `maximumValueBytes`: the size of one string, or of one binary value. By default 2^32 - 2. All values of a
  /// property together may have 2^38 bytes.
  public var valueBytes = Int(UInt32.max) - 1
  /// `maximumDepth`: the nesting depth of arrays and dictionaries in metadata and models. By default 512, which is the
  /// maximum.
  public var depth = Self.greatestDepth

  /// `maximumMemory`: the memory in bytes of the values of all objects, and of their references. A property without a
  /// value takes none. By default 32 MB plus 48 times the size of the file, or of all files of a directory, which
  /// suffices unless a file has a value once that very many objects share.
  public var memory: Int?

  /// The memory limit for values that are read from an input of that size: ``memory``, or its default.
  package func memory(forInput bytes: Int) -> Int {
    if let memory { return memory }
    let (product, overflow) = bytes.multipliedReportingOverflow(by: 48)
    return overflow ? .max : product.addingReportingOverflow(32 << 20).overflow ? .max : product + (32 << 20)
  }

  func memoryExceeded(at location: StoreLocation) -> PersistentStoreError {
    PersistentStoreError(
      .limitExceeded,
      "the values of all objects need more memory than the limit 'maximumMemory'"
        + (memory.map { " of \($0)" } ?? ", 32 MB plus 48 times the file's size"), at: location)
  }

  /// The maximum of ``depth``. Readers are recursive: a greater depth would exceed the stack of a thread.
  public static let greatestDepth = 512

  /// Creates the default limits.
  public init() {}

  static func tooDeep(_ limit: Int, at location: StoreLocation) -> PersistentStoreError {
    PersistentStoreError(
      .limitExceeded, "arrays and dictionaries are nested more than \(limit) levels deep, the limit 'maximumDepth'",
      at: location)
  }

  package func exceeded(_ name: String, _ limit: Int, _ what: String, at location: StoreLocation)
    -> PersistentStoreError
  {
    PersistentStoreError(.limitExceeded, "\(what): more than the limit '\(name)' of \(limit)", at: location)
  }
}

/// A format that makes files for the conformance checks, which are all that calls it: above all, files that are valid
/// again after their content was changed.
///
/// A checksum finds nearly all damage, so checks that damage files never reach the code behind it. An attacker does,
/// who computes the checksum again. A format that conforms to this protocol has the same damage made where it is read:
///
/// ```swift
/// extension TabularStore: ChecksummedStore {
///   static func recomputeChecksum(of payload: [String: [UInt8]]) -> [String: [UInt8]]? {
///     payload.mapValues { bytes in bytes.dropLast(8) + digest(bytes.dropLast(8)) }
///   }
///   static func newerVersion(of files: [String: [UInt8]]) -> [String: [UInt8]]? {
///     files.mapValues { [$0[0] + 1] + $0.dropFirst() }
///   }
/// }
/// ```
///
/// The files of a directory are given by their names, and a store that is one file under the empty name. All functions
/// get whatever the checks made of a file, so they must not rely on its structure.
///
/// **You may implement** ``recomputeChecksum(of:)`` if the format has a checksum, compresses or encrypts, with
/// ``payload(of:)`` in the latter cases; ``newerVersion(of:)``, ``duplicate(of:)`` and ``crafted(from:)``. What you
/// leave out is not tried, and where that hides something, a report says that it was not tested.
public protocol ChecksummedStore: AtomicStore {
  /// What of a store's files is to be damaged: decompressed and decrypted. By default the files as they are.
  ///
  /// - Returns: Nil for files without such a content.
  static func payload(of files: [String: [UInt8]]) -> [String: [UInt8]]?

  /// The files of a store with a payload that was changed: compressed and encrypted as the format does, and with valid
  /// checksums.
  ///
  /// - Parameter payload: What ``payload(of:)`` returned, damaged anywhere, longer, or shorter.
  /// - Returns: Nil if the payload has no room for a checksum any more. If it is nil for what the format wrote, the
  ///   checks do not use it; it is by default.
  static func recomputeChecksum(of payload: [String: [UInt8]]) -> [String: [UInt8]]?

  /// The files with the number of a later version of the format, and valid otherwise: to be refused as
  /// `.unsupportedVersion`.
  ///
  /// - Returns: Nil, which is the default, for a format without versions.
  static func newerVersion(of files: [String: [UInt8]]) -> [String: [UInt8]]?

  /// A store in which two objects have the same reference, which must be refused: for a format that writes references
  /// neither as text nor as whole bytes nor in groups of seven bits, where the checks cannot make one.
  ///
  /// - Parameter files: A store of two objects of one entity, with the references 1111111 and 2000003.
  /// - Returns: Nil, which is the default, if no such store can be written.
  static func duplicate(of files: [String: [UInt8]]) -> [String: [UInt8]]?

  /// More stores to try, such as those with something behind their end, and those that another program would write.
  ///
  /// - Parameter files: A store of a few objects with relationships.
  /// - Returns: By default, none.
  static func crafted(from files: [String: [UInt8]]) -> [CraftedStore]
}

extension ChecksummedStore {
  public static func payload(of files: [String: [UInt8]]) -> [String: [UInt8]]? { files }
  public static func recomputeChecksum(of payload: [String: [UInt8]]) -> [String: [UInt8]]? { nil }
  public static func newerVersion(of files: [String: [UInt8]]) -> [String: [UInt8]]? { nil }
  public static func duplicate(of files: [String: [UInt8]]) -> [String: [UInt8]]? { nil }
  public static func crafted(from files: [String: [UInt8]]) -> [CraftedStore] { [] }
}

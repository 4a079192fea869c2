/// A format that says how to make a file valid again after its content was changed: for the conformance checks, which
/// are all that calls it.
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
/// **You implement** ``recomputeChecksum(of:)``. **You may implement** ``payload(of:)`` if the format compresses or
/// encrypts, and ``newerVersion(of:)``.
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
  ///   checks do not use it.
  static func recomputeChecksum(of payload: [String: [UInt8]]) -> [String: [UInt8]]?

  /// The files with the number of a later version of the format, and valid otherwise: to be refused as
  /// `.unsupportedVersion`.
  ///
  /// - Returns: Nil, which is the default, for a format without versions.
  static func newerVersion(of files: [String: [UInt8]]) -> [String: [UInt8]]?
}

extension ChecksummedStore {
  public static func payload(of files: [String: [UInt8]]) -> [String: [UInt8]]? { files }
  public static func newerVersion(of files: [String: [UInt8]]) -> [String: [UInt8]]? { nil }
}

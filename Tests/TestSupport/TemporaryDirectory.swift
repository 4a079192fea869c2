import Foundation

/// A directory for the files of a test, which is removed with this object.
public final class TemporaryDirectory: Sendable {
  public let path: String

  /// - Parameter name: What its name begins with.
  public init(_ name: String) throws {
    path = NSTemporaryDirectory() + "\(name)-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }
}

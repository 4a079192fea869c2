import Foundation

/// A directory for the files of a test, which is removed with this object.
public final class TemporaryDirectory: Sendable {
  public let path: String

  /// - Parameter name: What its name begins with.
  public init(_ name: String) throws {
    path = NSTemporaryDirectory() + "\(name)-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { Self.remove(path) }

  /// Removes a directory while stores in it may still be closing on other threads.
  ///
  /// A task that ended may release its coordinator a moment later, on its own thread. Closing a store that was
  /// never saved then locks the directory with a file, for an instant; if that file appears between the removal of the
  /// directory's files and that of the directory, the latter fails. No file can be created once the directory is gone,
  /// so trying again ends.
  public static func remove(_ path: String) {
    for _ in 0..<1000 {
      try? FileManager.default.removeItem(atPath: path)
      guard FileManager.default.fileExists(atPath: path) else { return }
      usleep(1000)
    }
  }
}

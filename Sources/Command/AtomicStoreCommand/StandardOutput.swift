import AtomicStoreKit
import CommandSupport
import FoundationEssentials
import StoreCodecs

extension StoreConverter {
  /// A converter whose result is one file.
  ///
  /// - Throws: A usage error if no type is specified, or one that cannot be one file.
  func forStandardOutput() throws -> StoreConverter {
    guard let to = targetType else {
      throw CommandFailure("standard output has no extension: specify the type with --to", exitCode: 64)
    }
    if InstalledFormats.registry.incrementalType(named: to) != nil {
      throw CommandFailure("a database (\(to)) cannot be written to standard output", exitCode: 64)
    }
    let type = try InstalledFormats.registry.storeType(named: to)
    var converter = self
    // A stream is one file: select that layout if the format supports both.
    if type.traits.layout == .folder {
      guard type.traits.writeOptions.contains(where: { $0.name == "layout" }) else {
        throw CommandFailure(
          "a store of type \(to) is a directory and cannot be written to standard output", exitCode: 64)
      }
      converter.writeOptions["layout"] = converter.writeOptions["layout"] ?? "file"
    }
    return converter
  }

  /// The result is staged and verified, then copied.
  func convertToStandardOutput(_ store: PersistentStore) throws -> Report {
    // A file without a name: other users cannot open it, and it is removed even if the command is killed.
    try forStandardOutput().convert(store, shownAs: "standard output", unnamedIn: Input.temporaryFolder) { result in
      try result.copyToStandardOutput()
    }
  }
}

extension StoreSource {
  /// Writes the whole file to standard output.
  func copyToStandardOutput() throws {
    try Diagnostics.stream { writer in
      var failure: (any Error)?
      try readChunks { (bytes) throws(PersistentStoreError) in
        writer.append(bytes)
        do { try writer.flushIfNeeded() } catch { failure = error }
        return failure == nil
      }
      if let failure { throw failure }
    }
  }
}

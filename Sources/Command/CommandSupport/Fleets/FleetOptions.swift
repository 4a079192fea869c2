package import ArgumentParser

/// The options of commands that can treat a list of stores in one process.
package struct FleetOptions: ParsableArguments {
  @Option(
    name: .customLong("files-from"),
    help:
      "A file with the paths of the stores, one on each line, or separated by NUL characters as by 'find -print0'; - for standard input. Prints a line of JSON for each store."
  )
  package var filesFrom: String?

  package init() {}

  /// Whether there is a list of stores.
  package var isUsed: Bool { filesFrom != nil }

  /// Returns the path of the only store.
  ///
  /// - Throws: A usage error if there is none.
  package func onlyStore(_ path: String?, named name: String = "store") throws -> String {
    guard let path else {
      throw CommandFailure("missing argument: <\(name)>, or --files-from with a list of stores", exitCode: 64)
    }
    return path
  }

  /// Reads the list.
  ///
  /// - Throws: A usage error if a store is specified as well; the error of reading.
  package func list(besides path: String?) throws -> StoreList {
    if let path {
      throw CommandFailure("the stores are those of --files-from; '\(path)' is one store too many", exitCode: 64)
    }
    return try StoreList(readFrom: filesFrom ?? "-")
  }
}

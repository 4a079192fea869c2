import AtomicStoreSPI
import FoundationEssentials
import ModelFiles

/// Finds a model by the name of its file.
enum ModelLookup {
  /// The extensions of model files, in the order in which they are looked for.
  static let extensions = ["momd", "xcdatamodeld", "mom", "xcdatamodel"]

  /// The directories in which a model is looked for by default: the resource bundles beside the running program, its
  /// own directory, and the current directory with its resource bundles.
  static var directories: [String] {
    let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
    let own = program?.lastIndex(of: "/").map { slash in program.map { String($0[..<slash]) } ?? "" }
    let roots = [own, FileManager.default.currentDirectoryPath].compactMap { $0 }
    return roots.flatMap { root in bundles(in: root) + [root] }
  }

  /// The resource bundles that SwiftPM puts beside a program.
  private static func bundles(in directory: String) -> [String] {
    guard let names = try? FileManager.default.contentsOfDirectory(atPath: directory) else { return [] }
    return names.filter { $0.hasSuffix(".resources") || $0.hasSuffix(".bundle") }.sorted().map { directory + "/" + $0 }
  }

  /// The path of the model with that name.
  ///
  /// - Throws: `.notFound` with the directories that were searched.
  static func path(of name: String, in directories: [String]) throws(PersistentStoreError) -> String {
    for directory in directories {
      for suffix in extensions {
        let path = "\(directory)/\(name).\(suffix)"
        if FileManager.default.fileExists(atPath: path) { return path }
      }
    }
    throw PersistentStoreError(
      .notFound,
      "no model '\(name)' (\(extensions.map { "." + $0 }.joined(separator: ", "))) in "
        + directories.joined(separator: ", "))
  }
}

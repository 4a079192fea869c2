package import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

extension Publication {
  /// Adds a model in Xcode's format.
  ///
  /// - Parameters:
  ///   - path: The path of the `.xcdatamodel` directory.
  ///   - overwrite: Whether an existing model may be replaced.
  /// - Throws: As ``ModelFile/write(_:to:overwrite:)``.
  package func add(_ model: ModelDescription, at path: String, overwrite: Bool) throws(PersistentStoreError) {
    let contents = try ModelFile.contents(of: model)
    try add(path, overwrite) { (files) throws(PersistentStoreError) in try files.file(at: "contents").write(contents) }
  }

  /// Adds models as versions.
  ///
  /// - Parameters:
  ///   - versions: Their names, without extension, and the models.
  ///   - current: The name of the current version.
  ///   - path: The path of the `.xcdatamodeld` directory.
  ///   - overwrite: Whether an existing model may be replaced.
  /// - Throws: As ``ModelFile/write(versions:current:to:overwrite:)``.
  package func add(
    versions: [(name: String, model: ModelDescription)], current: String, at path: String, overwrite: Bool
  ) throws(PersistentStoreError) {
    for (name, _) in versions
    where name.isEmpty || name.utf8.contains(UInt8(ascii: "/")) || name.utf8.count >= 200 {
      throw PersistentStoreError(
        .invalidValue, "'\(name)' cannot be the name of a version", at: StoreLocation(file: path))
    }
    let list: PropertyListValue = ["_XCCurrentVersionName": .string(current + ".xcdatamodel")]
    try add(path, overwrite) { (files) throws(PersistentStoreError) in
      for (name, model) in versions {
        try files.file(at: name + ".xcdatamodel/contents").write(try ModelFile.contents(of: model))
      }
      try files.file(at: ".xccurrentversion").write(try PropertyList.encodeXML(list))
    }
  }

  private func add(
    _ path: String, _ overwrite: Bool, _ write: (StagedFiles) throws(PersistentStoreError) -> Void
  ) throws(PersistentStoreError) {
    try ModelFile.checkTarget(path, overwrite: overwrite)
    let isEmpty = try StorePath.inspect(path).kind == .emptyFolder
    try addTree(
      at: path, policy: overwrite || isEmpty ? .replaceAny : .createNew,
      replacing: { (old) throws(PersistentStoreError) in
        try ModelFile.checkReplaced(old, path, overwrite: overwrite)
      }, write)
  }
}

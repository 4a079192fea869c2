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
    try checkNames(versions.map(\.name), path)
    let list: PropertyListValue = ["_XCCurrentVersionName": .string(current + ".xcdatamodel")]
    try add(path, overwrite) { (files) throws(PersistentStoreError) in
      for (name, model) in versions {
        try files.file(at: name + ".xcdatamodel/contents").write(try ModelFile.contents(of: model))
      }
      try files.file(at: ".xccurrentversion").write(try PropertyList.encodeXML(list))
    }
  }

  /// Adds compiled models as versions, with the list of their version hashes.
  ///
  /// - Parameters:
  ///   - versions: Their names, without extension, the models, and these compiled.
  ///   - current: The name of the current version.
  ///   - path: The path of the `.momd` directory.
  ///   - overwrite: Whether an existing model may be replaced.
  /// - Throws: As ``ModelFile/write(versions:current:to:overwrite:)``.
  package func add(
    compiled versions: [(name: String, model: ModelDescription, bytes: [UInt8])], current: String, at path: String,
    overwrite: Bool
  ) throws(PersistentStoreError) {
    try checkNames(versions.map(\.name), path)
    var hashes = PropertyListDictionary()
    var checksums = PropertyListDictionary()
    for (name, model, _) in versions {
      let own = ManagedObjectModel(unchecked: model).versionHashes
      hashes[name] = own.propertyList
      checksums[name] = .string(own.checksum)
    }
    let info: PropertyListValue = [
      "NSManagedObjectModel_CurrentVersionName": .string(current),
      "NSManagedObjectModel_VersionHashes": .dictionary(hashes),
      "NSManagedObjectModel_VersionChecksums": .dictionary(checksums),
    ]
    try add(path, overwrite) { (files) throws(PersistentStoreError) in
      for (name, _, bytes) in versions { try files.file(at: name + ".mom").write(bytes) }
      try files.file(at: "VersionInfo.plist").write(try PropertyList.encodeBinary(info))
    }
  }

  private func checkNames(_ names: [String], _ path: String) throws(PersistentStoreError) {
    for name in names where name.isEmpty || name.utf8.contains(UInt8(ascii: "/")) || name.utf8.count >= 200 {
      throw PersistentStoreError(
        .invalidValue, "'\(name)' cannot be the name of a version", at: StoreLocation(file: path))
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

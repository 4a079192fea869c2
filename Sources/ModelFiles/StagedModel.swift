package import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

/// A model in Xcode's format that is written under a hidden name beside its path. It is moved to the path when it is
/// committed, and removed otherwise.
package final class StagedModel {
  private let path: String
  private let overwrite: Bool
  /// A `.xcdatamodel`.
  private var single: StagedStore?
  /// A `.xcdatamodeld`.
  private var versions: StagedDirectory?

  /// Writes one model.
  ///
  /// - Parameters:
  ///   - path: The path of the `.xcdatamodel` directory.
  ///   - overwrite: Whether an existing model may be replaced.
  /// - Throws: As ``ModelFile/write(_:to:overwrite:)``.
  package init(_ model: ModelDescription, for path: String, overwrite: Bool) throws(PersistentStoreError) {
    self.path = path
    self.overwrite = overwrite
    let contents = try ModelFile.contents(of: model)
    try ModelFile.checkTarget(path, overwrite: overwrite)
    let isEmpty = try StorePath.inspect(path).kind == .emptyFolder
    let staged = try StagedStore(
      target: path, layout: .folder, policy: overwrite || isEmpty ? .replaceAny : .createNew)
    try staged.files.member("contents").write(contents)
    try staged.finish()
    single = consume staged
  }

  /// Writes models as versions.
  ///
  /// - Parameters:
  ///   - versions: Their names, without extension, and the models.
  ///   - current: The name of the current version.
  ///   - path: The path of the `.xcdatamodeld` directory.
  ///   - overwrite: Whether an existing model may be replaced.
  /// - Throws: As ``ModelFile/write(versions:current:to:overwrite:)``.
  package init(
    versions: [(name: String, model: ModelDescription)], current: String, for path: String, overwrite: Bool
  ) throws(PersistentStoreError) {
    self.path = path
    self.overwrite = overwrite
    try ModelFile.checkTarget(path, overwrite: overwrite)
    let directory = try StagedDirectory(target: try StorePath.inspect(path).resolvedPath)
    self.versions = directory
    for (name, model) in versions {
      guard !name.isEmpty, !name.utf8.contains(UInt8(ascii: "/")), name.utf8.count < 200 else {
        throw PersistentStoreError(
          .invalidValue, "'\(name)' cannot be the name of a version", at: StoreLocation(file: path))
      }
      try ModelFile.write(model, to: directory.path + "/" + name + ".xcdatamodel")
    }
    let marker = try StagedStore(target: directory.path + "/.xccurrentversion", layout: .file, policy: .createNew)
    let list: PropertyListValue = ["_XCCurrentVersionName": .string(current + ".xcdatamodel")]
    try marker.files.file().write(try PropertyList.encodeXML(list))
    try marker.finish()
    try marker.commit()
  }

  /// Moves the model to its path.
  ///
  /// - Throws: As the initializers, if another process created a file or directory at the path since the model was
  ///   written.
  package func commit() throws(PersistentStoreError) {
    try ModelFile.checkTarget(path, overwrite: overwrite)
    try single.take()?.commit()
    let (path, overwrite) = (path, overwrite)
    try versions.take()?.commit { (old) throws(PersistentStoreError) in
      try ModelFile.checkVersions(in: old, path, overwrite: overwrite)
    }
  }
}

package import AtomicStoreSPI
import FoundationEssentials
import Glibc
import StoreCodecs

/// A model in Xcode's format that is written beside its place. It appears there when it is committed, and vanishes
/// otherwise.
package final class StagedModel {
  private let path: String
  /// A `.xcdatamodel`.
  private var single: StagedStore?
  /// The directory of a `.xcdatamodeld`, and the place where it is moved in one step.
  private var versions: (folder: String, target: String)?

  /// Writes one model.
  ///
  /// - Parameters:
  ///   - path: The path of the `.xcdatamodel` directory.
  ///   - overwrite: Whether an existing model may be replaced.
  /// - Throws: As ``ModelFile/write(_:to:overwrite:)``.
  package init(_ model: ModelDescription, for path: String, overwrite: Bool) throws(PersistentStoreError) {
    self.path = path
    let contents = try ModelFile.contents(of: model)
    if overwrite { try ModelFile.checkTarget(path, overwrite: true) }
    let staged = try StagedStore(target: path, layout: .folder, policy: overwrite ? .replaceAny : .createNew)
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
    try ModelFile.checkTarget(path, overwrite: overwrite)
    let target = try StorePath.inspect(path).resolvedPath
    let folder = target + ".staged-" + UUID().uuidString
    self.versions = (folder, target)
    guard mkdir(folder, 0o777) == 0 else {
      throw PersistentStoreError(
        errno == EACCES || errno == EROFS ? .permissionDenied : .cannotCreate,
        "the directory cannot be created: \(String(cString: strerror(errno)))", at: StoreLocation(file: path))
    }
    for (name, model) in versions {
      guard !name.isEmpty, !name.utf8.contains(UInt8(ascii: "/")), name.utf8.count < 200 else {
        throw PersistentStoreError(
          .invalidValue, "'\(name)' cannot be the name of a version", at: StoreLocation(file: path))
      }
      try ModelFile.write(model, to: folder + "/" + name + ".xcdatamodel")
    }
    let marker = try StagedStore(target: folder + "/.xccurrentversion", layout: .file, policy: .createNew)
    let list: PropertyListValue = ["_XCCurrentVersionName": .string(current + ".xcdatamodel")]
    try marker.files.file().write(try PropertyList.encodeXML(list))
    try marker.finish()
    try marker.commit()
  }

  deinit { if let versions { SystemCall.removeTree(versions.folder) } }

  /// Puts the model in its place.
  package func commit() throws(PersistentStoreError) {
    try single.take()?.commit()
    guard let (folder, target) = versions else { return }
    let old = target + ".replaced-" + UUID().uuidString
    let isReplaced = Glibc.rename(target, old) == 0
    guard Glibc.rename(folder, target) == 0 else {
      let text = String(cString: strerror(errno))
      if isReplaced { _ = Glibc.rename(old, target) }
      throw PersistentStoreError(
        .cannotCreate, "the directory cannot be moved into place: \(text)", at: StoreLocation(file: path))
    }
    versions = nil
    if isReplaced { SystemCall.removeTree(old) }
  }
}

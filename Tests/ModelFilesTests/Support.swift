import AtomicStoreSPI
import Foundation
import ModelFiles

/// A folder that is gone when its owner is.
final class TemporaryFolder: Sendable {
  let path = FileManager.default.temporaryDirectory.appending(path: "models-\(UUID().uuidString)").path

  init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// Puts a file there, with the folders it stands in; its path.
  @discardableResult
  func put(_ name: String, _ bytes: Data) throws -> String {
    let url = URL(filePath: path + "/" + name)
    try FileManager.default.createDirectory(
      at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    try bytes.write(to: url)
    return url.path
  }
  @discardableResult
  func put(_ name: String, _ text: String) throws -> String { try put(name, Data(text.utf8)) }
}

/// Reads the very text that is given.
func readModel(_ text: String) throws -> ModelFile {
  let folder = try TemporaryFolder()
  return try ModelFile.read(at: folder.put("contents", text))
}

/// A model file with what is given inside `<model>`: on line 3 and after.
func modelText(_ body: String) -> String {
  """
  <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
  <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" userDefinedModelVersionIdentifier="">
  \(body)
  </model>
  """
}

/// The attribute that is written so.
func readAttribute(_ text: String) throws -> (AttributeDescription?, [ModelFileWarning]) {
  let file = try readModel(modelText("<entity name=\"E\">\n<attribute name=\"a\" \(text)/>\n</entity>"))
  guard case .attribute(let attribute)? = file.description.entities.first?.properties.first else { return (nil, []) }
  return (attribute, file.warnings)
}

func readRelationship(_ text: String) throws -> (RelationshipDescription?, [ModelFileWarning]) {
  let file = try readModel(
    modelText("<entity name=\"E\">\n<relationship name=\"r\" destinationEntity=\"E\" \(text)/>\n</entity>"))
  guard case .relationship(let relationship)? = file.description.entities.first?.properties.first else { return (nil, []) }
  return (relationship, file.warnings)
}

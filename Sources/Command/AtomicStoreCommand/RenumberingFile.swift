import AtomicStoreKit
import CommandSupport
import StoreCodecs

/// The file with the old and new references of a renumbering: `convert` writes it, `diff` reads it.
///
///     {"renumbered": [{"entity": "Book", "old": 1, "new": 17}]}
enum RenumberingFile {
  /// Refuses a place where the file cannot be written, before the store is.
  static func check(_ path: String, besides stores: [String], replaces: Bool) throws {
    guard path != "-" else { throw CommandFailure("--renumber-map needs a file, not -", exitCode: 64) }
    try FileOutput.check(path, besides: try FileOutput.places(stores), replaces: replaces)
  }

  static func add(_ renumbering: Renumbering, to unit: Publication, at path: String, replaces: Bool) throws {
    let text = JSONValue.object([("renumbered", renumbering.json)]).text + "\n"
    try unit.addFile(Array(text.utf8), at: path, replaces: replaces)
  }

  static func read(_ path: String) throws -> Renumbering {
    let bytes = try StoreSource(opening: try StorePath.inspect(path)).bytes().withUnsafeBytes { Array($0) }
    let file = try JSONMember(file: bytes, name: path)
    guard file.value["renumbered"] != nil else {
      throw file.refusal("this is not a list of renumbered objects, as 'convert --renumber-map' writes it")
    }
    return Renumbering(
      try file.member("renumbered").list().map { item in
        Renumbering.Change(
          object: ObjectReference(
            entityName: try item.member("entity").text(), reference: try item.member("old").reference()),
          reference: try item.member("new").reference())
      })
  }
}

extension Renumbering {
  /// As `--json` prints it.
  var json: JSONValue {
    .array(
      changes.map {
        .object([
          ("entity", .string($0.object.entityName)), ("old", $0.object.reference.json), ("new", $0.reference.json),
        ])
      })
  }
}

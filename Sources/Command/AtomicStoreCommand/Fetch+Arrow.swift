import ArrowTables
import AtomicStoreKit
import CommandSupport
import FoundationEssentials
import Glibc
import StoreCodecs

extension Fetch {
  /// Writes the result as an Arrow stream or file.
  func writeArrow(
    _ context: ManagedObjectContext, _ request: FetchRequest<ManagedObject>, _ store: PersistentStore
  ) throws {
    let arrow = ArrowOutput(
      context: context, request: request, entity: try store.model.entity(asked: entity), store: store,
      isEmpty: limit == 0)
    guard let output, output != "-" else {
      guard isatty(STDOUT_FILENO) == 0 else {
        throw CommandFailure("an Arrow stream is not for a terminal: use -o, or a pipe", exitCode: 64)
      }
      return try Diagnostics.stream { writer in
        _ = try arrow.write(.stream) { (bytes) throws(PersistentStoreError) in
          writer.append(bytes)
          try writer.flushIfNeeded()
        }
      }
    }
    var count = 0
    for model in source.models { try FileOutput.refuse(output, toReplaceModel: model) }
    try FileOutput.write(to: output, madeOf: path.map { [$0] } ?? [], replaces: force) { file in
      count = try arrow.write(output.hasSuffix(".arrows") ? .stream : .file) { (bytes) throws(PersistentStoreError) in
        try file.write(bytes)
      }
    }
    if common.json { try Diagnostics.put(JSONValue.object([("rows", .integer(count))]).text + "\n") }
  }
}

import AtomicStoreSPI
import FoundationEssentials
import StoreCodecs

/// Writes the objects of a snapshot. Everything that is the same for all rows of an entity or property is prepared as
/// bytes before the first row, so that a row is little more than copying.
final class StoreWriter {
  private let writer: ByteWriter
  private let plans: [EntityPlan]
  private let identifiers: ObjectIdentifiers

  /// - Parameter keepsNames: Whether the schema is written, so that names that differ only in case can be
  ///   distinguished.
  init(_ nodes: NodeTable, to writer: ByteWriter, keepsNames: Bool) throws(PersistentStoreError) {
    self.writer = writer
    let entities = nodes.model.entities
    if !keepsNames { try Self.refuseClashes(entities) }
    let names = NameFolding.entity.written(entities.map(\.name))
    var typeNames: [[UInt8]] = []
    for (entity, name) in zip(entities, names) {
      typeNames.append(try NameText.encode(name, at: StoreLocation(entity: entity.name)))
    }
    var plans: [EntityPlan] = []
    for entity in entities { plans.append(try EntityPlan(entity, nodes.reader(of: entity.index), typeNames)) }
    self.plans = plans
    var suffixes: [Int: [UInt8]] = [:]
    for root in Self.clashingHierarchies(plans) {
      suffixes[root] = [UInt8(ascii: ".")] + ObjectIdentifierText.percentEncoded(names[root])
    }
    identifiers = ObjectIdentifiers(plans, suffixes: suffixes)
  }

  private static func refuseClashes(_ entities: [Entity]) throws(PersistentStoreError) {
    if let (one, other) = NameFolding.entity.clash(entities.map(\.name)) {
      throw PersistentStoreError(
        .unsupportedByFormat,
        "the entities '\(one)' and '\(other)' differ only in case, which an XML store without a schema cannot represent"
      )
    }
    for entity in entities {
      if let (one, other) = NameFolding.property.clash(entity.slots.map(\.name)) {
        throw PersistentStoreError(
          .unsupportedByFormat,
          "'\(one)' and '\(other)' differ only in case, which an XML store without a schema cannot represent",
          at: StoreLocation(entity: entity.name))
      }
    }
  }

  /// Identifiers are unique in the whole store, references only in their hierarchy: a hierarchy that has a number in
  /// common with an earlier one adds its name to each of its numbers.
  private static func clashingHierarchies(_ plans: [EntityPlan]) -> [Int] {
    var clashing: Set<Int> = []
    var previous: (number: Int64, root: Int)?
    var order = RowOrder(plans)
    while let run = order.nextNumbers(.max) {
      let plan = plans[run.entity]
      for row in run.rows {
        let number = plan.numbers[row]
        if let before = previous, before.number == number {
          clashing.insert(max(before.root, plan.root))
          previous = (number, min(before.root, plan.root))
        } else {
          previous = (number, plan.root)
        }
      }
    }
    return clashing.sorted()
  }

  // MARK: Objects

  /// How many rows a thread encodes at a time, and how many bytes at most: the rows of a piece that do not fit are
  /// written directly. So the memory does not depend on the size of values.
  private static let pieceRows = 4096
  private static let pieceBytes = 8 << 20
  /// How many cells are worth encoding on several threads.
  private static let manyCells = 1 << 19

  /// Writes all objects, with the same bytes for any number of threads.
  ///
  /// - Parameters:
  ///   - pieceRows: How many rows a piece has, for tests; nil for the standard, and for one thread if the store is
  ///     small.
  ///   - pieceBytes: How many bytes a piece has at most, except for its last row.
  func writeObjects(
    pieceRows: Int? = nil, pieceBytes: Int = StoreWriter.pieceBytes
  ) throws(PersistentStoreError) {
    let encoder = ObjectEncoder(plans: plans, identifiers: identifiers)
    let cells = plans.reduce(0) { $0 + $1.count * (1 + $1.attributes.count + $1.relationships.count) }
    let jobs = cells >= Self.manyCells || pieceRows != nil ? ParallelWork.jobs : 1
    let size = pieceRows ?? Self.pieceRows
    var order = RowOrder(plans)
    while true {
      let pieces = ParallelResults<[RowRun]>(jobs)
      let made = ParallelResults<Result<Piece, PersistentStoreError>>(jobs)
      for number in 0..<jobs {
        let runs = order.next(rows: size)
        if !runs.isEmpty { pieces[number] = runs }
      }
      let count = pieces.all.count
      guard count > 0 else { return }
      guard jobs > 1 else {
        for runs in pieces.all { _ = try encoder.write(runs[...], to: writer) }
        continue
      }
      ParallelWork.forEach(count, jobs: jobs) { number in
        made[number] = pieces[number].map { encoder.piece($0, limit: pieceBytes) }
      }
      for result in made.all {
        let piece = try result.get()
        try writer.append(collectedBy: piece.writer)
        _ = try encoder.write(piece.rest, to: writer)
      }
    }
  }
}

/// Encoded rows, and those that did not fit.
///
/// `@unchecked Sendable`: the thread that makes it does not use the writer afterwards.
private struct Piece: @unchecked Sendable {
  let writer: ByteWriter
  let rest: ArraySlice<RowRun>
}

extension ObjectEncoder {
  fileprivate func piece(_ runs: [RowRun], limit: Int) -> Result<Piece, PersistentStoreError> {
    let writer = ByteWriter()
    do throws(PersistentStoreError) {
      let rest = try write(runs[...], to: writer, limit: limit)
      return .success(Piece(writer: writer, rest: rest))
    } catch {
      return .failure(error)
    }
  }
}

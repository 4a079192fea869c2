import AtomicStoreKit
import AtomicStoreSPI

/// What a conversion told, as it crosses from one process to another.
struct ConversionReport: Codable, Sendable {
  /// `kind|subject|count`.
  var losses: [String]
  var selections: [String]
  var objects: Int
}

/// Two values that cross from one process to another.
struct ValuePair<One: Codable & Sendable, Other: Codable & Sendable>: Codable, Sendable {
  var one: One
  var other: Other
  init(_ one: One, _ other: Other) {
    self.one = one
    self.other = other
  }
  var parts: (One, Other) { (one, other) }
}

extension StoreSession {
  func wideRegistry() throws -> StoreRegistry {
    var registry = try registry()
    for other in subject.others { try registry.register(other) }
    return registry
  }

  /// - Parameter model: What the source was saved with: for a type that does not carry it.
  func convert(
    _ source: String, _ sourceType: String?, _ target: String, _ targetType: String, of model: ModelDescription,
    _ set: (inout StoreConverter) -> Void = { _ in }
  ) throws -> ConversionReport {
    var converter = StoreConverter(registry: try wideRegistry())
    converter.model = try needed(model, by: sourceType).map { try Models.frozen($0) }
    converter.sourceType = sourceType
    converter.targetType = targetType
    set(&converter)
    let report: StoreConverter.Report
    do { report = try converter.convert(from: source, to: target) } catch let error as StoreConverter.LossError {
      throw PersistentStoreError(.unsupportedByFormat, "\(error)")
    }
    return ConversionReport(
      losses: report.losses.map { "\($0.kind.rawValue)|\($0.subject)|\($0.count)" },
      selections: report.selections.map(\.description),
      objects: report.counts.reduce(0) { $0 + $1.count })
  }

  /// UUID and metadata, of any type.
  func identity(_ path: String, of model: ModelDescription) throws -> String {
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: try needed(model).map { try Models.frozen($0) }, registry: try wideRegistry())
    let store = try coordinator.addPersistentStore(at: path, isReadOnly: true)
    return withExtendedLifetime(coordinator) {
      "\(store.metadata.uuid) "
        + store.metadata.entries.map { "\(GraphComparison.quoted($0.key)): \(GraphComparison.fullText($0.value))" }
        .joined(separator: ", ")
    }
  }

  func read(_ path: String, _ model: ModelDescription?, as type: String) throws -> GraphText {
    let coordinator = PersistentStoreCoordinator(
      managedObjectModel: try model.map { try Models.frozen($0) }, registry: try wideRegistry())
    let store = try coordinator.addPersistentStore(type: type, at: path, isReadOnly: true)
    return try withExtendedLifetime(coordinator) { try GraphText(store) }
  }

  /// The same format, and it has no special numbers: it says so, and writes nothing in their place.
  var withoutSpecialNumbers: StoreSession {
    let before = FaultHooks.current
    return watched { hooks in
      hooks.traits = { traits in
        before.traits?(&traits)
        traits.keepsSpecialFloats = false
      }
      hooks.savedValue = { value, type in
        let value = before.savedValue?(value, type) ?? value
        if case .double(let number) = value, !number.isFinite || (number == 0 && number.sign == .minus) { return .null }
        return value
      }
    }
  }
}

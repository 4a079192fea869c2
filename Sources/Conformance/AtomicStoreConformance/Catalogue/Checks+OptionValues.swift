import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

/// OPT: a format with an option is as many formats as the option has values.
extension Checks {
  /// What is checked with each value: the smoke checks about objects and metadata.
  private static let withEachValue =
    (values + furtherValues + relationships + references + changes + metadata).filter {
      Checks.smokeIDs.contains($0.id)
    }

  /// What an option changes may be long values alone.
  private static let longValues = CheckDefinition(
    "long values", "Long values are kept", from: kit, by: "texts and bytes of more than 64 KiB"
  ) { check in
    let lengths = [65_535, 65_536, 65_537, 300_000]
    try check.expectForgedKept(
      Graph.values(.string, lengths.map { .string(String(repeating: "ab", count: $0 / 2) + "c") }), "long texts")
    guard !check.traits.unsupportedTypes.contains("Binary") else { return }
    try check.expectForgedKept(
      Graph.values(
        .binaryData, lengths.map { size in .data(Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) })) }),
      "much data")
  }

  static let optionValues: [CheckDefinition] = [
    CheckDefinition(
      "OPT-03", "Each value of each option is a separate format, which keeps what the format keeps", from: kit,
      by:
        "\(withEachValue.map(\.id).joined(separator: ", ")) and values of more than 64 KiB, with each value of each option that has a list of them, as if it were the default",
      causes: ["an option has separate code, which other checks do not reach"],
      catches: ["longTextsLostWithOption"], timeLimit: 900,
      demand: { traits in
        (traits.readOptions + traits.writeOptions).contains { $0.values != nil }
          ? .applies : .notApplicable("no option has a list of values")
      }
    ) { check in
      for (name, value) in check.traits.closedChoices {
        var run = 0
        for definition in withEachValue + [longValues] where try check.keeps(definition, where: name, is: value) {
          run += 1
        }
        try check.expect(
          run > 0, "with \(name)=\(value), which the format lists, objects can be stored", "every check was refused")
        check.note("\(name)=\(value): \(run) checks")
      }
    }
  ]
}

extension StoreTraits {
  /// Each value of each option that has a list of them, once.
  fileprivate var closedChoices: [(name: String, value: String)] {
    var all: [(name: String, value: String)] = []
    for option in writeOptions + readOptions {
      for value in option.values ?? []
      where !all.contains(where: { ScalarString($0.name) == ScalarString(option.name) && $0.value == value }) {
        all.append((option.name, value))
      }
    }
    return all
  }
}

extension CheckContext {
  /// Runs another check where each store of the format is created with an option.
  ///
  /// - Returns: Whether the check applies.
  fileprivate func keeps(_ definition: CheckDefinition, where name: String, is value: String) throws -> Bool {
    let intact = FaultHooks.current
    defer { FaultHooks.current = intact }
    FaultHooks.current.configuration = { configuration in
      configuration.options[name] = value
      intact.configuration?(&configuration)
    }
    var subject = subject
    if subject.fault == nil { subject.type = FaultHooks.wrapped(subject.type) }
    // What the format declares of itself with the option.
    let store = try? subject.type.init(StoreConfiguration(path: path("declared"))) as any AtomicStore
    if let declared = store?.traits { FaultHooks.current.traits = { $0 = declared } }
    guard !definition.changesStore || subject.type.traits.writes == .all else { return false }
    let isRefusal: Bool
    switch definition.demand(subject.type.traits) {
    case .applies: isRefusal = false
    case .refuses: isRefusal = true
    case .notApplicable: return false
    }
    let folder = "\(folder)/\(record.nextFile())-\(definition.id)"
    Files.makeFolder(folder)
    let inner = CheckContext(
      subject: subject, folder: folder, seed: seed, isRefusal: isRefusal, runElsewhere: runElsewhere)
    let what = "\(definition.id) with \(name)=\(value)"
    do { try definition.body(inner) } catch is NotApplicable {
      Files.remove(folder)
      return false
    } catch let error as ExpectationFailure {
      throw ExpectationFailure(expected: "\(what): \(error.expected)", actual: error.actual)
    } catch var end as PhaseFailure {
      // What the format refuses as impossible with the option is not lost, nor is what it refuses with any: to change a
      // store.
      let isUnchangeable = end.code == "notSupported" && subject.type.traits.writes == .newOnly
      if end.code == "unsupportedByFormat" || isUnchangeable {
        note("\(what): \(end.actual)")
        Files.remove(folder)
        return false
      }
      end.expected = "\(what): \(end.expected)"
      throw end
    }
    Files.remove(folder)
    record.expected()
    return true
  }
}

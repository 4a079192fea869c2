import AtomicStoreSPI
import Testing

@testable import AtomicStoreConformance

extension Harness {
  private typealias Saving = @Sendable (inout StoreSnapshot) throws(PersistentStoreError) -> Void

  private static func refuse(_ isBad: @escaping @Sendable (NodeTable) -> Bool) -> Saving {
    { snapshot throws(PersistentStoreError) in
      if isBad(snapshot.nodes) { throw PersistentStoreError(.unsupportedByFormat, "this format has no such thing") }
    }
  }

  private static func hasValue(_ nodes: NodeTable, _ isBad: (StoredValue) -> Bool) -> Bool {
    nodes.model.entities.contains { entity in
      !entity.isAbstract
        && nodes.handles(of: entity.index).contains { node in
          entity.slots.contains { isBad(nodes.value(slot: $0.index, of: node)) }
        }
    }
  }

  private static func hasManyEntities(_ nodes: NodeTable) -> Bool {
    nodes.model.entities.filter { nodes.count(of: $0.index) > 0 }.count > 1
  }

  private static func fault(
    _ name: String, _ change: @escaping @Sendable (inout StoreTraits) -> Void,
    saved: Saving? = nil
  ) -> Fault {
    Fault(name, name) { hooks in
      hooks.traits = { traits in change(&traits) }
      hooks.saved = saved
    }
  }

  private static func isSpecial(_ value: StoredValue) -> Bool {
    if case .double(let number) = value { return !number.isFinite || number == 0 && number.sign == .minus }
    return false
  }

  static let liars: [Fault] = [
    // Better than they say, where no fault of the catalogue is.
    fault("deniesSpecialFloats") { $0.keepsSpecialFloats = false },
    fault("deniesUUIDs") { $0.unsupportedTypes = ["UUID"] },
    fault("deniesAllReferences") { $0.references = .derived },
    // Worse than they say.
    Fault("hidesModel", "says that it describes itself, and asks for a model") { hooks in
      hooks.metadata = { metadata, _ in metadata.model = nil }
      hooks.inferModel = { source throws(PersistentStoreError) in
        throw PersistentStoreError(.modelNeeded, "a model is needed")
      }
    },
    Fault("cannotWrite", "says that it writes, and does not") { $0.saved = refuse { _ in true } },
    Fault("numbersOnly", "says that it keeps texts as references, and refuses them") { hooks in
      hooks.saved = refuse { nodes in
        nodes.model.entities.contains { entity in
          !entity.isAbstract
            && nodes.handles(of: entity.index).contains {
              if case .string = nodes.reference(of: $0) { true } else { false }
            }
        }
      }
    },
    Fault("oneEntityOnly", "says that it holds any number of entities, and holds one") {
      $0.saved = refuse(hasManyEntities)
    },
    // As they say.
    fault("honestSpecialFloats", { $0.keepsSpecialFloats = false }, saved: refuse { hasValue($0, isSpecial) }),
    fault(
      "honestDecimals", { $0.keepsDecimals = false },
      saved: refuse { hasValue($0) { if case .decimal = $0 { true } else { false } } }),
    fault("honestEmpty", { $0.keepsNilApartFromEmpty = false }, saved: refuse { hasValue($0) { $0 == .string("") } }),
    fault(
      "honestOrder", { $0.keepsOrder = false },
      saved: refuse { nodes in
        hasValue(nodes) { if case .toMany(let list) = $0 { list.count > 1 } else { false } }
          && nodes.model.entity(named: "Item") != nil
      }),
    fault("honestEntities", { $0.maximumEntities = 1 }, saved: refuse(hasManyEntities)),
    fault(
      "honestMetadata", { $0.keepsMetadata = false },
      saved: { snapshot in snapshot.metadata.entries = PropertyListDictionary() }),
    fault("honestWriting", { $0.canWrite = false }, saved: refuse { _ in true }),
    // Neither kept nor refused.
    fault(
      "silentOrder", { $0.keepsOrder = false },
      saved: { (snapshot) throws(PersistentStoreError) in
        for entity in snapshot.nodes.model.entities where !entity.isAbstract {
          for node in snapshot.nodes.handles(of: entity.index) {
            for slot in entity.slots where slot.isOrdered {
              guard case .toMany(let list) = snapshot.nodes.value(slot: slot.index, of: node) else { continue }
              try snapshot.nodes.set(.toMany(Array(list.reversed())), slot: slot.index, of: node)
            }
          }
        }
      }),
  ]
}

@Suite("Declared traits are verified", .enabled(if: Harness.isReady)) struct LyingTraitTests {
  struct Lie: Sendable, CustomTestStringConvertible {
    var trait: String
    var fault: String
    var check: String
    var testDescription: String { "\(trait): \(fault)" }
  }

  static let claims: [Lie] = [
    Lie(trait: "keepsOrder", fault: "deniesOrder", check: "TRA-01"),
    Lie(trait: "keepsOrder", fault: "convertDropsOrder", check: "TRA-01"),
    Lie(trait: "keepsOrder", fault: "silentOrder", check: "TRA-01"),
    Lie(trait: "keepsNilApartFromEmpty", fault: "deniesEmpty", check: "TRA-02"),
    Lie(trait: "keepsNilApartFromEmpty", fault: "nilEqualsEmpty", check: "TRA-02"),
    Lie(trait: "keepsSpecialFloats", fault: "deniesSpecialFloats", check: "VAL-08"),
    Lie(trait: "keepsSpecialFloats", fault: "nanBecomesZero", check: "VAL-08"),
    Lie(trait: "keepsMetadata", fault: "deniesMetadata", check: "TRA-03"),
    Lie(trait: "keepsMetadata", fault: "dropsCustomMetadata", check: "TRA-03"),
    Lie(trait: "keepsIdentity", fault: "deniesIdentity", check: "TRA-14"),
    Lie(trait: "keepsIdentity", fault: "newUUIDEachOpen", check: "TRA-14"),
    Lie(trait: "isSelfDescribing", fault: "deniesModel", check: "TRA-04"),
    Lie(trait: "isSelfDescribing", fault: "hidesModel", check: "TRA-04"),
    Lie(trait: "maximumEntities", fault: "deniesEntities", check: "TRA-05"),
    Lie(trait: "maximumEntities", fault: "oneEntityOnly", check: "TRA-05"),
    Lie(trait: "unsupportedTypes", fault: "deniesUUIDs", check: "VAL-29"),
    Lie(trait: "unsupportedTypes", fault: "deniesUUIDs", check: "VAL-32"),
    Lie(trait: "unsupportedTypes", fault: "unsupportedTypeDropped", check: "VAL-32"),
    Lie(trait: "references", fault: "deniesReferences", check: "TRA-06"),
    Lie(trait: "references", fault: "deniesAllReferences", check: "TRA-06"),
    Lie(trait: "references", fault: "numbersOnly", check: "TRA-06"),
    Lie(trait: "layout", fault: "declaresOtherLayout", check: "TRA-07"),
    Lie(trait: "writes", fault: "deniesWriting", check: "TRA-08"),
    Lie(trait: "writes", fault: "cannotWrite", check: "TRA-08"),
    Lie(trait: "keepsDecimals", fault: "deniesDecimals", check: "TRA-09"),
    Lie(trait: "keepsDecimals", fault: "decimalViaDouble", check: "TRA-09"),
    Lie(trait: "leavesOutProperties", fault: "refusesToLeaveOut", check: "TRA-11"),
    Lie(trait: "leavesOutProperties", fault: "leavesObjectsOut", check: "TRA-11"),
    Lie(trait: "keptValue", fault: "refusesPromisedValues", check: "VAL-32"),
    Lie(trait: "keptValue", fault: "dropsPromisedValues", check: "VAL-32"),
    Lie(trait: "trustedHashes", fault: "writesTrustedHashes", check: "TRA-12"),
    Lie(trait: "trustedHashes", fault: "losesInferredHashes", check: "TRA-12"),
  ]

  @Test("a trait that denies what works, or promises what does not, is found", arguments: claims)
  func found(_ lie: Lie) throws {
    let result = try Harness.check(lie.check, fault: lie.fault).outcome()
    #expect(result.outcome == .failed, "\(result.outcome) \(result.reason ?? "") \(result.notes)")
  }

  @Test(
    "a declared limitation that is refused or omitted as declared is verified",
    arguments: [
      ("VAL-08", "honestSpecialFloats"), ("TRA-02", "honestEmpty"), ("TRA-01", "honestOrder"),
      ("TRA-05", "honestEntities"), ("TRA-09", "honestDecimals"),
      ("TRA-03", "honestMetadata"), ("TRA-08", "honestWriting"),
    ])
  func honest(_ id: String, _ fault: String) throws {
    let result = try Harness.check(id, fault: fault).outcome()
    #expect(result.outcome == .refusalVerified, "\(result.explanation?.actual ?? result.reason ?? "")")
    #expect(result.reason?.isEmpty == false)
  }

  @Test("every trait that promises something is falsified here, in both directions")
  func complete() {
    let traits = Mirror(reflecting: CalmStore.traits).children.compactMap(\.label)
    // What people read, and options and extensions, which INI-23 and REG-01 ask for, are not promises about values.
    // Stores in memory have no file, and the harness refuses their types.
    // Unequal bytes may be equal by chance; that equal ones are is asked for by SAV-15 to SAV-17.
    let told: Set = [
      "summary", "fileExtensions", "readOptions", "writeOptions", "isInProcess", "writesEqualBytes",
    ]
    for trait in traits where !told.contains(trait) {
      // A layout has but two words, each a lie about the other.
      #expect(
        Set(Self.claims.filter { $0.trait == trait }.map(\.fault)).count >= (trait == "layout" ? 1 : 2), "\(trait)")
    }
  }

  @Test("for a store that cannot be written, only that is claimed")
  func readOnly() throws {
    let ids = ["REG-02", "VAL-01", "SAV-01", "TRA-08"]
    let checks = try ids.map { try Harness.check($0, fault: "honestWriting") }
    let results = ConformanceRun(checks).results()
    #expect(results.map(\.outcome) == [.notApplicable, .notApplicable, .notApplicable, .refusalVerified])
    #expect(results[0].reason == "canWrite is false")
    let report = ConformanceReport(storeType: "Calm", checks: checks, results: results, catalogue: checks)
    #expect(report.claim(.durable) == .none && report.claim(.core) == .full)
  }
}

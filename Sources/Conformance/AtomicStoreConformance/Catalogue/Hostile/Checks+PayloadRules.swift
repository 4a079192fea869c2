import AtomicStoreKit
import AtomicStoreSPI
import FoundationEssentials

/// HOS: rules that only a changed payload can break, with or without a checksum in front of it.
extension Checks {
  /// Names of equal lengths, that no format writes by itself.
  private static let properties = (first: "firstproperty", other: "otherproperty")
  private static let keys = (first: "firstmetakey", other: "othermetakey")

  static let payloadRules: [CheckDefinition] = [
    CheckDefinition(
      "HOS-19", "A key that is there twice is an error, or nothing is lost by it", profile: .hostile, from: kit,
      by:
        "two properties, and two entries of metadata, whose names have one length: each place of the second name becomes the first one, with the checksum computed again; refused, or the same store",
      causes: ["a dictionary takes the later of two values, and the next save loses the other"],
      catches: ["secondKeyTaken"], timeLimit: 120
    ) { check in
      let path = check.path()
      let model = Models.attributes([(properties.first, .string), (properties.other, .string)])
      var graph = Graph(model, [("a", "Sample"), ("b", "Sample")])
      for place in graph.objects.indices {
        graph.objects[place].values[ScalarKey(properties.first)] = .string("first value \(place)")
        graph.objects[place].values[ScalarKey(properties.other)] = .string("other value \(place)")
      }
      let whole = graph
      _ = try check.process("save two objects") { try $0.write(whole, to: path) }
      if check.traits.setsMetadataAlone {
        _ = try check.process("set two entries of metadata") {
          try $0.setMetadata([keys.first: .string("first entry"), keys.other: .string("other entry")], path)
        }
      }
      let text = try check.process("read it") { try $0.read(path, model) }
      let entries = try check.process("read its metadata") { try $0.entries(path, model, [:]) }
      let (payload, files) = try check.changeablePayload(of: (path, graph, text))
      var damages: [Damage] = []
      for (old, new) in [(properties.other, properties.first), (keys.other, keys.first)] {
        damages += Damage.each(of: Array(old.utf8), as: Array(new.utf8), in: payload, "'\(new)' twice")
      }
      guard !damages.isEmpty else { throw NotApplicable(reason: "the payload does not hold names as they are") }
      let options = check.handmade
      for damage in damages {
        guard let changed = files(damage.made(in: payload)) else { continue }
        Files.put(changed, at: path)
        let end = try check.attempt("read it with \(damage.label)") { session in
          let differences = text.differences(from: try session.read(path, model, options: options))
          let now = try session.entries(path, model, options)
          return differences.map(\.actual) + (ScalarKey(now) == ScalarKey(entries) ? [] : ["metadata: \(now)"])
        }
        guard case .value(let differences) = end else {
          _ = try check.refusal(in: end, "a store with \(damage.label)") { "\($0)" }
          continue
        }
        try check.expect(
          differences.isEmpty, "\(damage.label): refused, or the same store", differences.joined(separator: "; "))
      }
      check.note("\(damages.count) places")
    },
    CheckDefinition(
      "HOS-20", "A relationship that leads behind the last object is an error", profile: .hostile, from: kit,
      by:
        "four stores that differ in which of four objects a relationship leads to; where bytes of the payload count these up, they are counted on, with the checksum computed again",
      causes: ["a number of an object that is too great is taken for the first or the last one, or for none"],
      catches: ["danglingBecomesNil"], timeLimit: 120
    ) { check in
      // All of one entity: whichever object is taken instead is one that the relationship may lead to.
      let objects = ["g", "h0", "h1", "h2", "h3"].map { ($0, "Sample") }
      let properties: [PropertyDescription] = [.attribute("name", .string), .toOne("home", "Sample")]
      let model = ModelDescription(entities: [EntityDescription(name: "Sample", properties: properties)])
      let uuid = UUID()
      var payloads: [[String: [UInt8]]] = []
      var seal: ([String: [UInt8]]) -> [String: [UInt8]]? = { $0 }
      var (path, last) = (check.path(), "")
      for number in 0..<4 {
        path = check.path("to\(number)")
        var graph = Graph(model, objects)
        graph.objects[0].links["home"] = ["h\(number)"]
        let (whole, place) = (graph, path)
        let names = try check.process("write a relationship to object \(number + 1) of 4") {
          try $0.forge(whole, to: place, uuid: uuid)
        }
        last = names["h\(number)"] ?? ""
        let text = try check.process("read it") { try $0.read(place, model) }
        let (payload, files) = try check.changeablePayload(of: (place, graph, text))
        payloads.append(payload)
        seal = files
      }
      guard let places = Damage.counting(payloads) else {
        throw NotApplicable(reason: "no bytes of the payload count up with the object that a relationship leads to")
      }
      let options = check.handmade
      for step in 4..<8 {
        var payload = payloads[0]
        for place in places {
          let byte = Int(payload[place.member]?[place.offset] ?? 0) + step
          payload[place.member]?[place.offset] = UInt8(truncatingIfNeeded: byte)
        }
        guard let changed = seal(payload) else { continue }
        Files.put(changed, at: path)
        let place = path
        _ = try check.refusal(of: "a relationship to object \(step + 1) of 4, which is not there") {
          try $0.read(place, model, options: options)
        }
      }
      check.note("the relationship is at \(places.map { "\($0.member) \($0.offset)" }); the last one led to \(last)")
    },
  ]
}

extension CheckContext {
  /// What of a store's files is to be changed, and what makes files of it: those of the author past a checksum; the
  /// files themselves where no checksum hides them.
  fileprivate func changeablePayload(
    of store: (path: String, graph: Graph, text: GraphText)
  ) throws -> (payload: [String: [UInt8]], files: ([String: [UInt8]]) -> [String: [UInt8]]?) {
    do { return (try hiddenPayload(of: store), { self.valid($0) }) } catch is NotApplicable {
      return (Files.content(store.path) ?? [:], { $0 })
    }
  }
}

extension StoreSession {
  /// The metadata of a store, as text.
  fileprivate func entries(_ path: String, _ model: ModelDescription, _ options: StoreOptions) throws -> String {
    try opened(path, model, isReadOnly: true, options: options) { open in
      GraphComparison.text(.dictionary(open.store.metadata.entries))
    }
  }
}

extension Damage {
  /// A damage for each place of some bytes, at most a hundred.
  fileprivate static func each(
    of old: [UInt8], as new: [UInt8], in payload: [String: [UInt8]], _ label: String
  ) -> [Damage] {
    var found: [Damage] = []
    for (member, bytes) in payload.sorted(by: { $0.key < $1.key }) where bytes.count >= old.count {
      for offset in 0...bytes.count - old.count where found.count < 100 && bytes[offset] == old[0] {
        guard bytes[offset..<offset + old.count].elementsEqual(old) else { continue }
        let changed = Array(bytes[..<offset]) + new + bytes[(offset + old.count)...]
        found.append(Damage(label: "\(label), at byte \(offset) of \(member)", member: member, bytes: changed))
      }
    }
    return found
  }

  /// The payload with this damage.
  fileprivate func made(in payload: [String: [UInt8]]) -> [String: [UInt8]] {
    var payload = payload
    payload[member] = bytes
    return payload
  }

  /// Where payloads of equal sizes differ, if all these bytes count up by one from each payload to the next.
  fileprivate static func counting(_ payloads: [[String: [UInt8]]]) -> [(member: String, offset: Int)]? {
    guard let first = payloads.first else { return nil }
    let sizes = first.mapValues(\.count)
    guard payloads.allSatisfy({ $0.mapValues(\.count) == sizes }) else { return nil }
    var places: [(member: String, offset: Int)] = []
    for (member, bytes) in first.sorted(by: { $0.key < $1.key }) {
      for offset in bytes.indices where payloads.contains(where: { $0[member]?[offset] != bytes[offset] }) {
        let isCounting = payloads.enumerated().allSatisfy { number, payload in
          payload[member].map { Int($0[offset]) == Int(bytes[offset]) + number } ?? false
        }
        guard isCounting, Int(bytes[offset]) + 2 * payloads.count <= 256 else { return nil }
        places.append((member, offset))
      }
    }
    return places.isEmpty ? nil : places
  }
}

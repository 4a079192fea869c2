import AtomicStoreSPI
import FoundationEssentials
import Glibc

extension Faults {
  static let moreValues: [Fault] = [
    silent(
      "wrapsInt16", "reads nothing where a number does not fit", about: [.invalidValue, .malformed, .modelMismatch]),
    silent(
      "lenientNumberParse", "reads nothing where a number has something behind it",
      about: [.invalidValue, .malformed, .modelMismatch]),
    Fault("laterLine", "names the line after that of what is wrong") { hooks in
      hooks.loaded = { (result, builder) throws(PersistentStoreError) in
        do throws(PersistentStoreError) { try copy(try result.get(), into: builder) } catch {
          var later = error
          later.location.line = error.location.line.map { $0 + 1 }
          throw later
        }
      }
    },
    value("decimalExponentLost", "writes decimals without their power of ten, where that is great") { value, _ in
      if case .decimal(let number) = value, !number.isNaN, abs(Int(number.exponent)) > 100 {
        return .decimal(DecimalNumber(mantissa: number.mantissa, exponent: 0, isNegative: number.isNegative))
      }
      return value
    },
    value("decimalZerosDropped", "writes decimals without the zeros at their end") { value, _ in
      guard case .decimal(let number) = value, number.exponent < 0 else { return value }
      return .decimal(number.normalized)
    },
    value("dateLocaleFormatter", "writes dates in the time of the place where it runs") { value, _ in
      guard case .date(let date) = value else { return value }
      tzset()
      var moment = time_t(0)
      var parts = tm()
      localtime_r(&moment, &parts)
      return .date(Date(timeIntervalSinceReferenceDate: date.timeIntervalSinceReferenceDate + Double(parts.tm_gmtoff)))
    },
    value("localeDecimalComma", "cuts numbers at the point where the place writes a comma") { value, _ in
      guard case .double(let number) = value, let place = getenv("LC_NUMERIC"), String(cString: place).hasPrefix("de")
      else { return value }
      return .double(number.rounded(.towardZero))
    },
    value("transformableAsDescription", "writes a description instead of the bytes that a transformer made") {
      value, type in
      guard case .data(let data) = value, type == .transformable else { return value }
      return .data(Data("\(data.count) bytes".utf8))
    },
    value("unsupportedTypeDropped", "leaves out values of types that it finds odd") { value, type in
      type == .undefined ? .null : value
    },
    Fault(
      "attributeNameSanitised",
      "takes attributes for one whose names differ in marks, in case or in how they are composed"
    ) {
      $0.saved = { (snapshot) throws(PersistentStoreError) in
        for entity in snapshot.nodes.model.entities where !entity.isAbstract {
          var first: [String: Int] = [:]
          for slot in entity.slots where slot.attributeType == .string {
            // Swift takes canonically equal texts for one.
            let name = slot.name.lowercased().filter { $0.isLetter || $0.isNumber }
            guard let other = first[name] else {
              first[name] = slot.index
              continue
            }
            for node in snapshot.nodes.handles(of: entity.index) {
              try snapshot.nodes.set(snapshot.nodes.value(slot: other, of: node), slot: slot.index, of: node)
            }
          }
        }
      }
    },
    Fault("entityNameIsPath", "takes an entity's name for a path") {
      $0.afterSave = { (snapshot, configuration) throws(PersistentStoreError) in
        guard let end = configuration.path.lastIndex(of: "/") else { return }
        for entity in snapshot.nodes.model.entities where entity.name.hasPrefix("../") {
          Files.write(Array("x".utf8), to: configuration.path[..<end] + "/" + entity.name.replacing("../", with: ""))
        }
      }
    },
    Fault(
      "swapsTwoAttributes",
      "writes the values of two attributes of one type in each other's place, where there are many"
    ) {
      $0.saved = { (snapshot) throws(PersistentStoreError) in
        for entity in snapshot.nodes.model.entities where !entity.isAbstract {
          let texts = entity.slots.filter { $0.attributeType == .string }
          guard texts.count == 2, entity.name.hasPrefix("Entity") else { continue }
          for node in snapshot.nodes.handles(of: entity.index) {
            let values = texts.map { snapshot.nodes.value(slot: $0.index, of: node) }
            try snapshot.nodes.set(values[1], slot: texts[0].index, of: node)
            try snapshot.nodes.set(values[0], slot: texts[1].index, of: node)
          }
        }
      }
    },
    Fault("offByOneRow", "writes each row's numbers into the next one, from the seventh on") {
      $0.saved = { (snapshot) throws(PersistentStoreError) in
        for entity in snapshot.nodes.model.entities where !entity.isAbstract {
          let nodes = snapshot.nodes.handles(of: entity.index)
          guard nodes.count > 7, let slot = entity.slots.first(where: { $0.attributeType == .integer32 }) else {
            continue
          }
          let values = nodes.map { snapshot.nodes.value(slot: slot.index, of: $0) }
          for place in 7..<nodes.count { try snapshot.nodes.set(values[place - 1], slot: slot.index, of: nodes[place]) }
        }
      }
    },
    Fault("noColumnsNoRow", "leaves out objects of entities without properties") {
      $0.saved = { (snapshot) throws(PersistentStoreError) in
        let nodes = snapshot.nodes
        snapshot.nodes = try rebuilt(nodes, rename: { entity, reference in entity.slots.isEmpty ? nil : reference })
      }
    },
  ]
}

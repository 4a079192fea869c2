import AtomicStoreSPI
import FoundationEssentials

/// HBP: binary property lists put together from what the store itself wrote, with a crafted object in the
/// place of a metadata entry, or with other offsets.
extension Checks {
  static let hostilePropertyList: [CheckDefinition] = [
    list(
      "HBP-01", "An object that holds itself is refused",
      by:
        "an array and a dictionary that hold themselves, two arrays that hold each other, an array that holds the whole",
      causes: ["references are followed without a look at where they came from"], catches: ["followsCycles"]
    ) { check, store in
      try check.expectRefused(store.with(.array([store.place])).bytes(), "with an array that holds itself", in: store)
      var craft = store.with(.array([store.place, store.place]))
      let key = craft.append(PropertyListCraft.string("key"))
      craft.items[store.place] = .dictionary([(key, store.place)])
      try check.expectRefused(craft.bytes(), "with a dictionary that holds itself", in: store)
      craft = store.craft
      let other = craft.append(.array([store.place]))
      craft.items[store.place] = .array([other])
      try check.expectRefused(craft.bytes(), "with two arrays that hold each other", in: store)
      try check.expectRefused(
        store.with(.array([store.craft.top])).bytes(), "with an array that holds the whole", in: store)
    },
    list(
      "HBP-02", "Objects that are shared many times over are refused or stay shared, at once",
      by: "forty arrays, each with the next one twice: a million million leaves; within 3 GB and 15 s",
      causes: ["an object is decoded each time that it is named"], catches: ["expandsSharedReferences"]
    ) { check, store in
      for width in [2, 4] {
        var craft = store.craft
        var inner = craft.append(PropertyListCraft.string("leaf"))
        for _ in 1..<40 { inner = craft.append(.array(Array(repeating: inner, count: width))) }
        craft.items[store.place] = .array(Array(repeating: inner, count: width))
        try check.expectValue(
          craft.bytes(), "of shared arrays", in: store, "40 arrays deep: string leaf", mayBeRefused: true)
      }
    },
    list(
      "HBP-03", "A count that the file has no room for is refused before memory is asked for",
      by:
        "data, strings, arrays and dictionaries of 2^20 to 2^64 elements; counts of sixteen bytes, and counts that are none; within 3 GB",
      causes: ["memory is reserved for what a count says"], catches: ["allocatesDeclaredCount"]
    ) { check, store in
      for marker: UInt8 in [0x4F, 0x5F, 0x6F, 0xAF, 0xDF] {
        let greatest = UInt64.max
        let counts: [UInt64] =
          [20, 32, 40, 62, 63].map { UInt64(1) << UInt64($0) } + [greatest, greatest / 2, greatest / 16 + 1]
        for count in counts {
          let item = PropertyListCraft.Item.raw([marker, 0x13] + PropertyListCraft.big(count, 8))
          try check.expectRefused(store.with(item).bytes(), "with a count of \(count)", in: store)
        }
        let none: [[UInt8]] = [[0x14] + [UInt8](repeating: 0x7F, count: 16), [0x50], [0x1F], [0xA0], [marker]]
        for bytes in none.map({ [marker] + $0 }) {
          try check.expectRefused(store.with(.raw(bytes)).bytes(), "with a count that is none", in: store)
        }
      }
    },
    list(
      "HBP-04", "Offsets, references and a trailer that lead out of the file are refused",
      by: "an object in the header, in the offset table, in the trailer and behind the end; "
        + "references to objects that are not there; each number of the trailer too small and too great",
      causes: ["offsets are trusted"], catches: ["offsetUnchecked"]
    ) { check, store in
      let bytes = store.craft.bytes()
      let trailer = bytes.count - 32
      let table = trailer - store.craft.items.count * 8
      let far: [UInt64] = [31, 32, 62, 63].map { UInt64(1) << UInt64($0) } + [UInt64.max]
      for offset in [0, 7, table, trailer, bytes.count - 1, bytes.count].map({ UInt64($0) }) + far {
        try check.expectRefused(
          store.craft.bytes(moved: [store.place: offset]), "with an object at byte \(offset)", in: store)
        try check.expectRefused(
          store.craft.bytes(moved: [store.craft.top: offset]), "with its top at byte \(offset)", in: store)
      }
      // An object that ends behind the objects' end: the last one, a byte too long.
      let cut: [[UInt8]] = [
        [0x51], [0x61, 0x00], [0x41], [0x13, 0, 0, 0], [0x23, 0], [0x33, 0], [0xA1], [0xD1, 0], [0x5F],
        [0x5F, 0x13, 0], [0x80],
      ]
      for item in cut {
        var craft = store.craft
        let last = craft.append(.raw(item))
        craft.items[store.place] = .array([last])
        try check.expectRefused(craft.bytes(), "whose last object is cut short", in: store)
      }
      // As many bytes for a reference as the list has.
      let size = store.craft.items.count + 1 < 256 ? 1 : 2
      for index in [UInt64(store.craft.items.count), 255, 65535]
      where index >= store.craft.items.count && (size == 2 || index < 256) {
        try check.expectRefused(
          store.with(.raw([0xA1] + PropertyListCraft.big(index, size))).bytes(), "with a reference to object \(index)",
          in: store)
      }
      let count = UInt64(store.craft.items.count)
      func trailing(_ place: Int, _ number: UInt64) -> [UInt8] {
        var changed = bytes
        changed.replaceSubrange((trailer + place)..<(trailer + place + 8), with: PropertyListCraft.big(number, 8))
        return changed
      }
      for number in [0, count - 1, count + 1, count * 2, UInt64(1) << 61] + far {
        try check.expectRefused(trailing(8, number), "that says it had \(number) objects", in: store)
      }
      for number in [count, count + 1] + far {
        try check.expectRefused(trailing(16, number), "whose top is \(number)", in: store)
      }
      for number in [0, 7, table - 1, table + 1, trailer, trailer + 1, bytes.count].map({ UInt64($0) }) + far {
        try check.expectRefused(trailing(24, number), "whose offset table is at \(number)", in: store)
      }
      for (what, place) in [("offsets", 6), ("references", 7)] {
        for size: UInt8 in [0, 9, 16, 255] {
          var changed = bytes
          changed[trailer + place] = size
          try check.expectRefused(changed, "whose \(what) take \(size) bytes", in: store)
        }
      }
      for end in [0, 8, 20, bytes.count / 2, trailer, bytes.count - 1] where end > 0 {
        try check.expectRefused(Array(bytes.prefix(end)), "of its first \(end) bytes", in: store)
      }
    },
    list(
      "HBP-05", "Arrays very deep inside each other are refused, not followed until the stack ends",
      by: "200,000 arrays, each in the next",
      causes: ["a reader calls itself for each level"], catches: ["recursiveDecode"]
    ) { check, store in
      var craft = store.craft
      var inner = craft.append(PropertyListCraft.string("leaf"))
      for _ in 1..<200_000 { inner = craft.append(.array([inner])) }
      craft.items[store.place] = .array([inner])
      try check.expectValue(
        craft.bytes(), "200,000 arrays deep", in: store, "200000 arrays deep: string leaf", mayBeRefused: true)
    },
    list(
      "HBP-06", "Integers of each size are read as what they are: short ones without a sign, long ones with it",
      by:
        "the least and the greatest of one, two, four and eight bytes; sixteen bytes with 2^63 and 2^64 - 1; sizes that do not exist",
      causes: ["a byte was taken for a signed one"], catches: ["int8Unsigned"]
    ) { check, store in
      let cases: [([UInt8], Int128)] = [
        ([0x10, 0x7F], 127), ([0x10, 0x80], 128), ([0x10, 0xFF], 255), ([0x11, 0x80, 0x00], 32768),
        ([0x11, 0xFF, 0xFF], 65535),
        ([0x12, 0xFF, 0xFF, 0xFF, 0xFF], 4_294_967_295), ([0x12, 0x80, 0, 0, 0], 2_147_483_648),
        ([0x13] + PropertyListCraft.big(.max, 8), -1), ([0x13] + PropertyListCraft.big(1 << 63, 8), Int128(Int64.min)),
        ([0x13] + PropertyListCraft.big(.max >> 1, 8), Int128(Int64.max)), ([0x13] + PropertyListCraft.big(1, 8), 1),
        ([0x14] + PropertyListCraft.big(0, 8) + PropertyListCraft.big(1 << 63, 8), Int128(Int64.max) + 1),
        ([0x14] + PropertyListCraft.big(0, 8) + PropertyListCraft.big(.max, 8), Int128(UInt64.max)),
        ([0x14] + PropertyListCraft.big(0, 8) + PropertyListCraft.big(5, 8), 5),
      ]
      for (bytes, number) in cases {
        try check.expectValue(
          store.with(.raw(bytes)).bytes(), "with \(number) in \(bytes.count - 1) bytes", in: store, "integer \(number)")
      }
      for (bytes, number): ([UInt8], Int128) in [
        ([0x14] + PropertyListCraft.big(1, 8) + PropertyListCraft.big(0, 8), Int128(UInt64.max) + 1),
        ([0x14] + PropertyListCraft.big(1 << 63, 8) + PropertyListCraft.big(0, 8), Int128.min),
      ] {
        try check.expectValue(
          store.with(.raw(bytes)).bytes(), "with \(number), which no list should hold", in: store, "integer \(number)",
          mayBeRefused: true)
      }
      let markers: [UInt8] = [
        0x15, 0x17, 0x1F, 0x20, 0x21, 0x24, 0x2F, 0x30, 0x32, 0x34, 0x3F, 0x70, 0x7F, 0x90, 0x9F, 0x01, 0x0A, 0x0F,
        0xE0, 0xFF,
      ]
      for marker in markers {
        try check.expectRefused(
          store.with(.raw([marker] + Array(repeating: 0, count: 16))).bytes(), "with the marker \(marker)", in: store)
      }
    },
    list(
      "HBP-07", "Half a surrogate pair is refused", level: .should,
      by: "one alone, one at the end, the two in the wrong order; as a value and as a key",
      causes: ["half a pair was replaced by U+FFFD"], catches: ["surrogateReplaced"]
    ) { check, store in
      let halves: [[UInt16]] = [
        [0xD800], [0xDC00], [0x61, 0xD83D], [0xD83D, 0x61], [0xDE00, 0xD83D], [0xD83D, 0xD83D, 0xDE00],
        [0xDBFF, 0xDBFF],
      ]
      for units in halves {
        let item = PropertyListCraft.Item.raw(
          [0x60 | UInt8(units.count)] + units.flatMap { PropertyListCraft.big(UInt64($0), 2) })
        try check.expectRefused(store.with(item).bytes(), "with half a pair", in: store)
        var craft = store.craft
        let key = craft.append(item)
        craft.items[store.place] = .dictionary([(key, key)])
        try check.expectRefused(craft.bytes(), "with half a pair in a key", in: store)
      }
      try check.expectValue(
        store.with(.raw([0x62, 0xD8, 0x3D, 0xDE, 0x00])).bytes(), "with a whole pair", in: store, "string \u{1F600}")
      try check.expectRefused(
        store.with(.raw([0x53, UInt8(ascii: "a"), 0x80, UInt8(ascii: "b")])).bytes(), "with a byte that is not ASCII",
        in: store)
    },
    list(
      "HBP-08", "A key that comes twice, and a key that is not a string, are refused",
      by:
        "one key object twice, two of the same text, one of them in two bytes a letter; keys that are numbers, data, lists; "
        + "in a metadata entry and in the top dictionary",
      causes: ["of two values for a key the last one won"], catches: ["duplicateKeyLastWins"]
    ) { check, store in
      // Each list holds what it uses and no more: an object that nothing leads to is a separate fault.
      func crafted(_ key: [UInt8]?) -> [UInt8] {
        var craft = store.craft
        let one = craft.append(.raw([0x51, UInt8(ascii: "k")]))
        let other = craft.append(.raw([0x51, UInt8(ascii: "l")]))
        let second = key.map { craft.append(.raw($0)) }
        craft.items[store.place] = .dictionary([(one, one), (second ?? other, other)])
        return craft.bytes()
      }
      try check.expectValue(crafted(nil), "with two keys", in: store, "dictionary of 2")
      var craft = store.craft
      let one = craft.append(.raw([0x51, UInt8(ascii: "k")]))
      craft.items[store.place] = .dictionary([(one, one), (one, one)])
      try check.expectRefused(craft.bytes(), "with a key twice", in: store)
      for key: [UInt8] in [[0x51, UInt8(ascii: "k")], [0x61, 0x00, UInt8(ascii: "k")]] {
        try check.expectRefused(crafted(key), "with a key twice", in: store)
      }
      for bytes: [UInt8] in [
        [0x10, 0x01], [0x09], [0x41, UInt8(ascii: "k")], [0xA0], [0xD0], [0x33] + Array(repeating: 0, count: 8),
        [0x80, 0x01],
        [0x00],
      ] {
        try check.expectRefused(crafted(bytes), "with a key that is not a string", in: store)
      }
      if case .dictionary(let entries) = store.craft.items[store.craft.top] {
        for entry in entries {
          craft = store.craft
          craft.items[craft.top] = .dictionary(entries + [entry])
          try check.expectRefused(
            craft.bytes(), "with '\(store.craft.text(entry.key) ?? "")' twice at the top", in: store)
        }
      }
    },
    list(
      "HBP-09", "Lists of another version, or whose sizes are not true, are refused", level: .should,
      by:
        "versions 01, 15, 16 and others; references said to take two bytes where they take one; flags that mean nothing",
      causes: ["only the first six bytes are looked at"], catches: ["versionIgnored"]
    ) { check, store in
      let bytes = store.craft.bytes()
      for version in ["01", "15", "16", "17", "0\0", "99", "  "] {
        try check.expectRefused(
          Array(("bplist" + version).utf8) + bytes.dropFirst(8), "of version \(version)", in: store, needsPlace: false)
      }
      let trailer = bytes.count - 32
      for (place, sizes): (Int, [UInt8]) in [(6, [1, 2, 4, 7]), (7, [1, 2, 3, 4, 8])] {
        for size in sizes where bytes[trailer + place] != size {
          var changed = bytes
          changed[trailer + place] = size
          try check.expectRefused(changed, "whose sizes are not true", in: store)
        }
      }
      for place in 0...5 {
        var changed = bytes
        changed[trailer + place] = 1
        try check.expectValue(
          changed, "with a flag that means nothing", in: store, "string CRAFT-HERE", mayBeRefused: true)
      }
    },
    list(
      "HBP-10", "Whatever is done to a list, it is refused or read; and what is read, another reader reads too",
      level: .should, profile: .interop,
      by:
        "offsets, markers and other bytes changed by chance, 240 of them; Python's plistlib judges those that were read",
      causes: ["more is taken than the format has"], catches: ["acceptsWhatOthersReject"], timeLimit: 90
    ) { check, store in
      var random = check.seed &* 0x9E37_79B9_7F4A_7C15 | 1
      func next(_ bound: Int) -> Int {
        random ^= random << 13
        random ^= random >> 7
        random ^= random << 17
        return Int(random >> 1) % max(1, bound)
      }
      let whole = store.craft.bytes()
      let table = whole.count - 32 - store.craft.items.count * 8
      var crafted = [whole] + [UInt64(whole.count), 1 << 40].map { store.craft.bytes(moved: [store.place: $0]) }
      while crafted.count < 240 {
        var bytes = whole
        switch crafted.count % 4 {
        case 0: bytes[table + next(whole.count - table)] = UInt8(next(256))
        case 1: bytes[8 + next(table - 8)] = UInt8(next(256))
        case 2: bytes[next(whole.count)] ^= 1 << UInt8(next(8))
        default:
          let from = 8 + next(table - 16)
          for place in from..<(from + 1 + next(7)) { bytes[place] = UInt8(next(256)) }
        }
        crafted.append(bytes)
      }
      var paths: [String] = []
      for bytes in crafted { paths.append(try check.lay(bytes)) }
      var wasRead: [String] = []
      for start in stride(from: 0, to: paths.count, by: 20) {
        let batch = Array(paths[start..<min(start + 20, paths.count)])
        let verdicts = try check.process("read \(batch[0]) and those behind it") { session -> [String] in
          batch.map { path in
            do {
              let open = try session.open(path, store.graph.model, isReadOnly: true)
              _ = try GraphText(open.store)
              return "read"
            } catch is PersistentStoreError { return "refused" } catch { return "\(error)" }
          }
        }
        for (path, verdict) in zip(batch, verdicts) {
          try check.expect(
            verdict == "read" || verdict == "refused", "\(path): read, or refused with a store error", verdict)
          if verdict == "read" { wasRead.append(path) }
        }
      }
      check.note("\(wasRead.count) of \(paths.count) were read")
      let script = """
        import sys, json, plistlib
        answers = []
        for path in sys.argv[2:]:
            try:
                plistlib.load(open(path, 'rb')); answers.append('')
            except BaseException as error:
                answers.append(type(error).__name__ + ' ' + str(error))
        json.dump(answers, open(sys.argv[1], 'w'))
        """
      let answers = try OtherReader.python(script, wasRead, in: check.folder, as: [String].self)
      for (path, answer) in zip(wasRead, answers) {
        try check.expect(answer.isEmpty, "\(path) was read, so plistlib reads it", answer)
      }
    },
    list(
      "HBP-11", "Numbers of four bytes are read, and dates that are not a number are refused",
      by:
        "reals of four and eight bytes, also not-a-number; dates that are not a number, infinite, or farther than any calendar",
      causes: ["a date that is not a number stops the process when it is shown"], catches: ["nanDateTrap"]
    ) { check, store in
      func list(_ marker: UInt8, _ bits: UInt64, _ size: Int = 8) -> [UInt8] {
        store.with(.raw([marker] + PropertyListCraft.big(bits, size))).bytes()
      }
      try check.expectValue(list(0x22, UInt64(Float(0.5).bitPattern), 4), "with a half", in: store, "real 0.5")
      try check.expectValue(
        list(0x22, UInt64(Float(0.1).bitPattern), 4), "with a tenth in four bytes", in: store,
        "real \(Double(Float(0.1)))")
      try check.expectValue(list(0x23, 0.1.bitPattern), "with a tenth", in: store, "real 0.1")
      try check.expectValue(
        list(0x23, Double.nan.bitPattern), "with not-a-number", in: store, "real nan", mayBeRefused: true)
      for seconds in [Double.nan, .signalingNaN] {
        try check.expectRefused(list(0x33, seconds.bitPattern), "with a date of \(seconds)", in: store)
      }
      for seconds in [Double.infinity, -.infinity, .greatestFiniteMagnitude, -1e300, 1e18] {
        try check.expectValue(
          list(0x33, seconds.bitPattern), "with a date of \(seconds)", in: store, "date \(seconds)", mayBeRefused: true)
      }
    },
  ]

  private static func list(
    _ id: String, _ title: String, level: ConformanceCheck.Level = .must, profile: ConformanceCheck.Profile = .hostile,
    by procedure: String,
    causes: [String], catches: [String], timeLimit: Int = 60,
    _ body: @escaping @Sendable (CheckContext, CheckContext.ListSubject) throws -> Void
  ) -> CheckDefinition {
    CheckDefinition(
      id, title, level: level, profile: profile, from: kit, by: procedure, causes: causes, catches: catches,
      timeLimit: timeLimit
    ) { check in try body(check, try check.listSubject()) }
  }
}

import AtomicStoreKit
import AtomicStoreSPI
import BuiltInStoreFormats
import Foundation
import StoreCodecs
import Testing

/// Core Data binary stores without their model. They are judged by Python alone, which shares no code with the kit.
@Suite("The layout of a binary store whose model is not known") struct BinaryLayoutTests {
  static let corpus = CoreDataSQLiteCorpusTests.files("binary")
  static let pythonNeeded: Comment = "python3 is not here"
  static let hasPython = DecodingScript.python != nil
  static let types = ["CoreDataBinary", "XML", "CSV", "BinaryPropertyList", "Arrow", "SQLiteGraph"]
  private static let fileExtensions = ["CSV": "csvstore", "Arrow": "arrowstore"]

  let folder: CoreDataSQLiteWritingTests.Scratch
  init() throws { folder = try CoreDataSQLiteWritingTests.Scratch() }
  private func path(_ name: String) -> String { folder.path + "/" + name }

  // MARK: The judge

  /// `values A`: a line for each object, with its values by position. `strip A B`: a copy without the kit's own model,
  /// as an application writes it. `count A KEY`: whether the metadata have a key. `insert A B ENTITY`: a copy in which
  /// the first value of one object of the entity is a dictionary, and one value of another object is missing.
  private static let judge = """
    import plistlib, struct, sys
    data = open(sys.argv[2], "rb").read()
    header = list(struct.unpack(">8sIIQQQQQQ", data[:64]))
    info = plistlib.loads(data[header[3]:header[3] + header[4]])
    store = plistlib.loads(data[header[5]:header[5] + header[6]])
    def show(value, table):
        if isinstance(value, plistlib.UID):
            held = table[value.data]
            if held == "$null": return "nil"
            if isinstance(held, dict) and "$class" in held:
                name = table[held["$class"].data]["$classname"].replace("Mutable", "")
                if name == "NSNull": return "nil"
                if name == "NSString" and "NS.string" in held: return repr(held["NS.string"])
                if "NS.keys" in held:
                    pairs = zip(held["NS.keys"], held["NS.objects"])
                    return name + "{" + ",".join(sorted(show(k, table) + ":" + show(v, table) for k, v in pairs)) + "}"
                parts = sorted(k + "=" + show(v, table) for k, v in held.items() if k != "$class")
                return name + "(" + ",".join(parts) + ")"
            return show(held, table)
        if isinstance(value, list): return "[" + ",".join(show(v, table) for v in value) + "]"
        return repr(value)
    def entries(archive, key):
        table = archive["$objects"]
        top = table[archive["$top"][key].data]
        return table, [(table[k.data], v) for k, v in zip(top["NS.keys"], top["NS.objects"])]
    if sys.argv[1] == "values":
        table, nodes = entries(store, "mapData")
        for key, node in sorted(nodes): print(key, show(node, table))
    elif sys.argv[1] == "count":
        print(sum(key == sys.argv[3] for key, _ in entries(info, "metadata")[1]))
    else:
        table, nodes = entries(store, "mapData")
        for held in info["$objects"]:
            if isinstance(held, dict) and "NS.keys" in held:
                names = [info["$objects"][k.data] for k in held["NS.keys"]]
                if "AtomicStoreModel" in names:
                    place = names.index("AtomicStoreModel")
                    del held["NS.keys"][place]; del held["NS.objects"][place]
        if sys.argv[1] == "insert":
            chosen = [table[n.data] for _, n in nodes if table[table[n.data]["NSEntityName"].data] == sys.argv[4]]
            kind = next(i for i, o in enumerate(table) if isinstance(o, dict) and o.get("$classname") == "NSMutableDictionary")
            table += ["k", {"$class": plistlib.UID(kind), "NS.keys": [plistlib.UID(len(table))], "NS.objects": [plistlib.UID(len(table))]}]
            if sys.argv[5] == "dictionary": table[chosen[0]["NSAttributeValues"].data]["NS.objects"][0] = plistlib.UID(len(table) - 1)
            if sys.argv[5] == "missing": table[chosen[0]["NSAttributeValues"].data]["NS.objects"].pop()
        first, second = plistlib.dumps(store, fmt=plistlib.FMT_BINARY), plistlib.dumps(info, fmt=plistlib.FMT_BINARY)
        header[3:7] = [64 + len(first), len(second), 64, len(first)]
        open(sys.argv[3], "wb").write(struct.pack(">8sIIQQQQQQ", *header) + first + second)
    """

  @discardableResult private func python(_ arguments: String...) throws -> [String] {
    let process = Process()
    process.executableURL = URL(filePath: try #require(DecodingScript.python))
    process.arguments = ["-c", Self.judge] + arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    try #require(process.terminationStatus == 0)
    return String(decoding: output, as: UTF8.self).split(separator: "\n").map(String.init)
  }

  // MARK: A sample

  /// More than nine attributes, the last of them null in all objects; an entity below another one; a relationship that
  /// no object has; numbers, dates and data.
  private static func model() throws -> ManagedObjectModel {
    let types: [AttributeType] = [.string, .integer64, .double, .date, .binaryData, .decimal, .boolean, .uuid, .uri]
    let attributes = "abcdefghijkl".enumerated().map { index, letter in
      PropertyDescription.attribute(String(letter), types[index % types.count])
    }
    return try ManagedObjectModel(
      ModelDescription(entities: [
        EntityDescription(
          name: "Base",
          properties: attributes + [
            .relationship(RelationshipDescription(name: "next", destinationEntityName: "Base")),
            .relationship(RelationshipDescription(name: "unused", destinationEntityName: "Other", maximumCount: 0)),
          ],
          subentities: [
            EntityDescription(name: "Sub", properties: [.attribute("aa", .string), .attribute("zz", .string)])
          ]),
        EntityDescription(name: "Other", properties: [.attribute("x", .string)]),
      ]))
  }

  private static func value(_ slot: Slot, _ row: Int) -> StoredValue {
    switch slot.attributeType {
    case .string: .string("\(slot.name)\(row)")
    case .integer64: .integer(Int64(row))
    case .double: .double(Double(row) + 0.5)
    case .date: .date(Date(timeIntervalSinceReferenceDate: Double(row) * 1.25))
    case .binaryData: .data(Data([UInt8(row), 0xFF]))
    case .decimal: .decimal(DecimalNumber(mantissa: UInt128(row + 10), exponent: -1))
    case .boolean: .boolean(row % 2 == 0)
    case .uuid: .uuid(UUID(uuid: (UInt8(row), 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)))
    case .uri: .uri("http://example.org/\(row)")
    default: .null
    }
  }

  /// The sample as an application writes it: with the version hashes of its model, and without the model.
  private func sample() throws -> String {
    let model = try Self.model()
    let builder = NodeTableBuilder(model: model)
    var key: Int64 = 0
    for name in ["Base", "Sub"] {
      let entity = try #require(model.entity(named: name))
      for row in 0..<3 {
        key += 1
        try builder.beginNode(entity: entity.index, reference: key)
        for slot in entity.slots where !slot.isRelationship && slot.name != "l" && slot.name != "zz" {
          if row != 1 || slot.index % 3 != 0 { try builder.set(Self.value(slot, row), slot: slot.index) }
        }
        if key > 1, let next = entity.slot(named: "next") { try builder.set(toOne: key - 1, slot: next) }
      }
    }
    var metadata = StoreMetadata(storeType: "CoreDataBinary", lastReference: key, model: model.description)
    metadata.entries[VersionHashes.metadataKey] = model.versionHashes.propertyList
    metadata.entries[VersionHashes.versionMetadataKey] = .integer(3)
    let snapshot = StoreSnapshot(nodes: try builder.finish().canonical(), metadata: metadata)
    var converter = StoreConverter(registry: .builtIn)
    converter.targetType = "CoreDataBinary"
    _ = try converter.write(snapshot, to: path("own.binary"))
    try python("strip", path("own.binary"), path("app.binary"))
    return path("app.binary")
  }

  private func copy(_ source: String, by type: String) throws -> String {
    var converter = StoreConverter(registry: .builtIn)
    converter.targetType = type
    let target = path("detour." + (Self.fileExtensions[type] ?? type))
    _ = try converter.convert(from: source, to: target)
    guard type != "CoreDataBinary" else { return target }
    converter.targetType = "CoreDataBinary"
    _ = try converter.convert(from: target, to: path("back.binary"))
    return path("back.binary")
  }

  // MARK: Values

  @Test(
    "a real store that is written again, or by way of another type, has the same values at the same positions",
    .enabled(if: !corpus.isEmpty && hasPython, CoreDataSQLiteCorpusTests.needed), arguments: corpus, types)
  func realStores(_ source: String, _ type: String) throws {
    #expect(try python("values", try copy(source, by: type)) == python("values", source))
  }

  @Test(
    "a store that is written again, or by way of another type, has the same values at the same positions",
    .enabled(if: hasPython, pythonNeeded), arguments: types)
  func detours(_ type: String) throws {
    let source = try sample()
    let before = try python("values", source)
    #expect(before.count == 6)
    #expect(try python("values", try copy(source, by: type)) == before)
  }

  @Test(
    "an edit in place changes the one value, and the store is still one of the application's model",
    .enabled(if: hasPython, pythonNeeded))
  func editing() throws {
    let source = try sample()
    let before = try python("values", source)
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    try coordinator.addPersistentStore(at: source)
    let context = ManagedObjectContext(coordinator)
    let object = try #require(try context.fetch(FetchRequest(entityName: "Sub")).first)
    object["value1"] = "changed"
    try context.save()
    let after = try python("values", source)
    #expect(after.count == before.count)
    #expect(zip(before, after).count { $0 != $1 } == 1)
    #expect(after.contains { $0.contains("'changed'") })
    #expect(try python("count", source, VersionHashes.metadataKey) == ["1"])
    // What is inferred again is not added to the application's file.
    #expect(try python("count", source, "AtomicStoreModel") == ["0"])

    // With its model the store is read by name: the same values as before.
    let reader = PersistentStoreCoordinator(managedObjectModel: try Self.model(), registry: .builtIn)
    let store = try reader.addPersistentStore(at: source, isReadOnly: true)
    let entity = try #require(store.model.entity(named: "Sub"))
    for row in 0..<3 {
      let node = try #require(store.nodes.handle(for: .integer(Int64(row + 4)), entity: entity.index))
      for slot in entity.slots where slot.attributeType == .string && slot.name != "a" {
        let isNull = slot.name == "l" || slot.name == "zz" || row == 1 && slot.index % 3 == 0
        #expect(store.nodes.value(slot: slot.index, of: node) == (isNull ? .null : Self.value(slot, row)))
      }
    }
  }

  @Test("a new object has as many values as the others", .enabled(if: hasPython, pythonNeeded))
  func inserting() throws {
    let source = try sample()
    let coordinator = PersistentStoreCoordinator(registry: .builtIn)
    try coordinator.addPersistentStore(at: source)
    let context = ManagedObjectContext(coordinator)
    let object = try context.insertNewObject(forEntityName: "Sub")
    object["value1"] = "new"
    try context.save()
    let reader = PersistentStoreCoordinator(managedObjectModel: try Self.model(), registry: .builtIn)
    #expect(try reader.addPersistentStore(at: source, isReadOnly: true).nodes.count == 7)
  }

  @Test("an object that is the value of an attribute is kept as it is", .enabled(if: hasPython, pythonNeeded))
  func archivedObjects() throws {
    let source = path("dictionary.binary")
    try python("insert", try sample(), source, "Base", "dictionary")
    let before = try python("values", source)
    #expect(before.contains { $0.contains("NSDictionary{'k':'k'}") })
    for type in ["CoreDataBinary", "XML"] { #expect(try python("values", try copy(source, by: type)) == before) }
  }

  @Test(
    "objects of an entity with different numbers of values are read, not written", .enabled(if: hasPython, pythonNeeded)
  )
  func differentCounts() throws {
    let source = path("counts.binary")
    try python("insert", try sample(), source, "Base", "missing")
    let error = try #require(throws: PersistentStoreError.self) { try copy(source, by: "CoreDataBinary") }
    #expect(error.code == .unsupportedByFormat && error.location.entity == "Base", "\(error)")
    #expect(error.message.contains("specify the model"))
  }

  @Test(
    "an inferred model without positions, or with impossible ones, is refused before anything is written",
    arguments: [
      ("2", [nil]), ("2", ["0"]), ("2", ["1", "1"]), ("2", ["99999"]), ("2", ["x"]), ("unknown", ["9000000000"]),
      ("9000000000000000000", ["5000000000"]), ("9000000000000000000", ["1"]), ("-1", ["1"]), ("x", ["1"]),
    ] as [(String, [String?])])
  func badPositions(_ count: String, _ positions: [String?]) throws {
    let properties = positions.enumerated().map { index, position in
      PropertyDescription.attribute(
        AttributeDescription(
          name: "value\(index + 1)", type: .string,
          userInfo: position.map { [UserInfoEntry(key: "CoreDataBinary.position", value: $0)] } ?? []))
    }
    let model = try ManagedObjectModel(
      ModelDescription(
        entities: [
          EntityDescription(
            name: "E", properties: properties, userInfo: [UserInfoEntry(key: "CoreDataBinary.valueCount", value: count)]
          )
        ], isInferred: true, inferredFrom: "CoreDataBinary"))
    let builder = NodeTableBuilder(model: model)
    try builder.beginNode(entity: 0, reference: 1)
    let snapshot = StoreSnapshot(
      nodes: try builder.finish(), metadata: StoreMetadata(storeType: "CoreDataBinary", model: model.description))
    var converter = StoreConverter(registry: .builtIn)
    converter.targetType = "CoreDataBinary"
    let error = try #require(throws: PersistentStoreError.self) {
      try converter.write(snapshot, to: path("bad.binary"))
    }
    #expect(error.code == .invalidModel && error.location.entity == "E", "\(error)")
    #expect(!FileManager.default.fileExists(atPath: path("bad.binary")))
  }

  @Test(
    "an archive of more than one object, or with invalid references, is a loss",
    arguments: [
      [
        "$version": 100_000, "$archiver": "NSKeyedArchiver", "$top": ["root": .uid(1), "other": .uid(2)],
        "$objects": ["$null", "x", "y"],
      ],
      ["$version": 100_000, "$archiver": "NSKeyedArchiver", "$top": ["root": .uid(.max)], "$objects": ["$null"]],
      ["$version": 100_000, "$archiver": "NSKeyedArchiver", "$top": ["root": .uid(7)], "$objects": ["$null", "x"]],
      [
        "$version": 100_000, "$archiver": "NSKeyedArchiver", "$top": ["root": .uid(1)],
        "$objects": ["$null", ["$class": .uid(900), "NS.objects": [.uid(.max)]]],
      ],
    ] as [PropertyListValue])
  func otherArchives(_ archive: PropertyListValue) throws {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [EntityDescription(name: "E", properties: [.attribute("value", .transformable)])]))
    let builder = NodeTableBuilder(model: model)
    try builder.beginNode(entity: 0, reference: 1)
    try builder.set(.data(Data(try PropertyList.encodeBinary(archive))), slot: 0)
    let snapshot = StoreSnapshot(
      nodes: try builder.finish(), metadata: StoreMetadata(storeType: "CoreDataBinary", model: model.description))
    var converter = StoreConverter(registry: .builtIn)
    converter.targetType = "CoreDataBinary"
    let error = try #require(throws: StoreConverter.LossError.self) {
      try converter.write(snapshot, to: path("other.binary"))
    }
    #expect(error.losses.map(\.kind) == [.typeUnsupported])
    converter.allowsLoss = true
    #expect(try converter.write(snapshot, to: path("other.binary")).losses.count == 1)
  }

  // MARK: Claims about the model

  @Test(
    "a store of an inferred model claims the application's model only in the layout that it was read in",
    .enabled(if: hasPython, pythonNeeded),
    arguments: [
      ("CoreDataBinary", "CoreDataBinary", true), ("CoreDataBinary", "XML", false),
      ("CoreDataBinary", "CoreDataSQLite", false), ("XML", "XML", true), ("XML", "CoreDataBinary", false),
      ("XML", "CoreDataSQLite", false), ("CoreDataSQLite", "XML", false), ("CoreDataSQLite", "CoreDataBinary", false),
      ("CoreDataSQLite", "CoreDataSQLite", false), ("CoreDataBinary", "BinaryPropertyList", true),
      ("XML", "SQLiteGraph", true),
    ])
  func claims(_ source: String, _ target: String, _ isKept: Bool) throws {
    let first = try application(source)
    var converter = StoreConverter(registry: .builtIn)
    for middle in [nil, "BinaryPropertyList"] {
      let result = path("\(source)-\(target)-\(middle ?? "")")
      var from = first
      if let middle {
        converter.targetType = middle
        from = path("\(source)-\(target)-middle")
        _ = try converter.convert(from: first, to: from)
      }
      converter.targetType = target
      _ = try converter.convert(from: from, to: result)
      let entries = try PersistentStoreCoordinator.metadataForPersistentStore(
        type: target, at: result, registry: .builtIn
      ).entries
      for key in VersionHashes.derivedMetadataKeys {
        #expect((entries[key] != nil) == isKept, "\(key), by way of \(middle ?? "nothing")")
      }
      #expect(entries["applicationKey"]?.stringValue == "kept")
    }
  }

  /// A store of a type as an application leaves it: with entries about a model that it does not carry.
  private func application(_ type: String) throws -> String {
    let model = try ManagedObjectModel(
      ModelDescription(entities: [EntityDescription(name: "E", properties: [.attribute("name", .string)])]))
    let builder = NodeTableBuilder(model: model)
    try builder.beginNode(entity: 0, reference: 1)
    try builder.set(.string("x"), slot: 0)
    var metadata = StoreMetadata(storeType: type, lastReference: 1, model: model.description)
    metadata.entries["applicationKey"] = "kept"
    metadata.entries[VersionHashes.digestMetadataKey] = ""
    metadata.entries[VersionHashes.checksumMetadataKey] = ""
    var converter = StoreConverter(registry: .builtIn)
    converter.targetType = type
    if type == "XML" { converter.writeOptions = ["schema": "omit"] }
    let made = path("made-\(type)")
    _ = try converter.write(StoreSnapshot(nodes: try builder.finish(), metadata: metadata), to: made)
    switch type {
    case "CoreDataBinary":
      try python("strip", made, path("app-\(type)"))
      return path("app-\(type)")
    case "CoreDataSQLite":
      let process = Process()
      process.executableURL = URL(filePath: try #require(DecodingScript.python))
      process.arguments = [
        "-c",
        """
        import plistlib, sqlite3, sys
        store = sqlite3.connect(sys.argv[1])
        info = plistlib.loads(store.execute("select Z_PLIST from Z_METADATA").fetchone()[0])
        del info["AtomicStoreModel"]
        store.execute("update Z_METADATA set Z_PLIST = ?", (plistlib.dumps(info, fmt=plistlib.FMT_BINARY),))
        store.commit()
        """, made,
      ]
      try process.run()
      process.waitUntilExit()
      try #require(process.terminationStatus == 0)
      return made
    default: return made
    }
  }
}

import Foundation
import TestSupport
import Testing

@Suite("atomicstore model swift") struct ModelSwiftTests {
  static let samples = [
    "Company/Company.xcdatamodeld", "FriendInfo/FriendInfo.xcdatamodeld", "Library/Library.xcdatamodeld",
    "People/People.xcdatamodel", "iClass/iClass.xcdatamodeld",
  ]
  private static let corpus = Command.root + "/../shared/corpus/models"
  private static let corpusModels = (try? FileManager.default.contentsOfDirectory(atPath: corpus))?.sorted() ?? []

  /// A model with what is hard to name, an enumeration, and a fetch request.
  private static let odd = """
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
    <entity name="Date" representedClassName="Date" syncable="YES">
    <attribute name="class" attributeType="String" optional="YES"/><attribute name="isDeleted" attributeType="Boolean"/>
    <attribute name="level" attributeType="Integer 16" defaultValueString="5"><userInfo><entry key="enum" value="low = 1, high = 5, top"/></userInfo></attribute>
    <attribute name="kind" optional="YES" attributeType="String"><userInfo><entry key="enum" value="Sort: in, out"/></userInfo></attribute>
    <attribute name="when" optional="YES" attributeType="Date"/><attribute name="free" optional="YES" attributeType="Transformable"/>
    <attribute name="cached" transient="YES" optional="YES" attributeType="Integer 32"/>
    <relationship name="self" optional="YES" maxCount="1" destinationEntity="Set" inverseName="init" inverseEntity="Set"/></entity>
    <entity name="Set" parentEntity="Date" representedClassName="Date" syncable="YES">
    <attribute name="note" optional="YES" attributeType="String"/>
    <relationship name="init" optional="YES" toMany="YES" destinationEntity="Date" inverseName="self" inverseEntity="Date"/></entity>
    <fetchRequest name="later than" entity="Date" predicateString="when &gt; $WHEN AND class == $class"/>
    </model>
    """

  private func generate(_ model: String, to path: String, _ options: String...) throws -> [String] {
    let result = try Command.run(arguments: ["model", "swift", model, "-o", path] + options)
    try #require(result.code == 0, "\(model): \(result.errors)")
    return result.output.split(separator: "\n").map { "\(path)/\($0)" }
  }

  /// Lets the compiler check sources against the modules that were built with these tests.
  private func typecheck(_ files: [String]) throws {
    let program = try #require(Command.path)
    let build = (program as NSString).deletingLastPathComponent
    var arguments = ["swiftc", "-typecheck", "-swift-version", "6", "-I", "\(build)/Modules"]
    for name in try FileManager.default.contentsOfDirectory(atPath: Command.root + "/Sources/C").sorted() {
      for folder in ["/Sources/C/\(name)", "/Sources/C/\(name)/include"]
      where FileManager.default.fileExists(atPath: Command.root + folder + "/module.modulemap") {
        arguments += ["-Xcc", "-fmodule-map-file=\(Command.root)\(folder)/module.modulemap"]
      }
      let made = "\(build)/\(name).build/module.modulemap"
      if FileManager.default.fileExists(atPath: made) { arguments += ["-Xcc", "-fmodule-map-file=\(made)"] }
    }
    let include = "/usr/include/libxml2"
    if FileManager.default.fileExists(atPath: include) { arguments += ["-Xcc", "-I\(include)"] }
    let result = try ChildProcess.run("/usr/bin/env", arguments + files)
    #expect(result.code == 0, "\((result.output + result.errors).prefix(4000))")
  }

  @Test("what is generated for the sample models compiles", arguments: samples)
  func compiles(_ model: String) throws {
    let folder = try Folder()
    try typecheck(try generate(Command.samples + "/" + model, to: folder("Out")))
  }

  @Test("names that Swift or the kit has, enumerations and fetch requests compile, public or not")
  func oddNames() throws {
    let folder = try Folder()
    try Data(Self.odd.utf8).write(to: URL(filePath: folder("contents")))
    let files = try generate(folder("contents"), to: folder("Out"), "--name", "Odd")
    let publicFiles = try generate(folder("contents"), to: folder("Public"), "--name", "Odd", "--public")
    let use = folder("Use.swift")
    let text = #"""
      import AtomicStoreKit
      func use(_ context: ManagedObjectContext) throws {
        OddModel.registerClasses(with: context.persistentStoreCoordinator)
        for object in try context.fetch(DateObject.laterThan(when: .constant(.null), class: .constant(.null))) {
          object.level = .top
          object.kind = .in
          object.cached = 3
          if object.isDeletedValue { object.`class` = object.selfValue?.note }
        }
        let request = FetchRequest<DateObject>(
          \.level == .high && \.selfValue?.cached > 2, sortedBy: .descending(\.when))
        _ = try context.fetch(request)
      }
      """#
    try Data(text.utf8).write(to: URL(filePath: use))
    try typecheck(files + [use])
    try typecheck(publicFiles)
    let generated = try files.map { try String(contentsOfFile: $0, encoding: .utf8) }.joined()
    #expect(generated.contains("@AtomicStoreKit.Managed(\"cached\")"), "a transient attribute is one like any other")
  }

  @Test("entities that are called like words that Swift reads before a type compile")
  func wordsOfTypes() throws {
    let folder = try Folder()
    var model = "<model type=\"com.apple.IDECoreDataModeler.DataModel\" documentVersion=\"1.0\">"
    for word in ["some", "any", "each", "await", "nonisolated", "repeat", "borrowing", "sending", "async"] {
      model += """
        <entity name="\(word)" syncable="YES">
        <relationship name="one\(word)" optional="YES" maxCount="1" destinationEntity="\(word)"/>
        <relationship name="many\(word)" optional="YES" toMany="YES" destinationEntity="\(word)"/></entity>
        <entity name="sub\(word)" parentEntity="\(word)" syncable="YES"/>
        """
    }
    try Data((model + "</model>").utf8).write(to: URL(filePath: folder("contents")))
    try typecheck(try generate(folder("contents"), to: folder("Out"), "--name", "Words"))
  }

  @Test("a property that is called as the compiler stores another one gets another name")
  func storedNames() throws {
    let folder = try Folder()
    func attribute(_ name: String) -> String {
      "<attribute name=\"\(name)\" optional=\"YES\" attributeType=\"String\"/>"
    }
    let model = """
      <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
      <entity name="A" syncable="YES">\(attribute("_a"))\(attribute("a"))\(attribute("b"))\(attribute("_c"))</entity>
      <entity name="B" parentEntity="A" syncable="YES">\(attribute("c"))</entity>
      <entity name="D" syncable="YES">\(attribute("_payload"))<attribute name="payload" optional="YES" attributeType="Transformable"/>
      <attribute name="state" optional="YES" attributeType="String"><userInfo><entry key="enum" value="_state: low, high"/></userInfo></attribute>
      \(attribute("_recent"))</entity><fetchRequest name="recent" entity="D" predicateString="state != nil"/></model>
      """
    try Data(model.utf8).write(to: URL(filePath: folder("contents")))
    let files = try generate(folder("contents"), to: folder("Out"), "--name", "Stored")
    try typecheck(files)
    let generated = try files.map { try String(contentsOfFile: $0, encoding: .utf8) }.joined()
    // Names that nothing takes stay: of properties without a wrapper, and of requests.
    for line in [
      #"("_a") var _a:"#, #"("a") var aValue:"#, #"("b") var b:"#, #"("c") var cValue:"#,
      #"("_payload") var _payload:"#,
      "  var payload: Any?", #"("state") var state: _stateEnum?"#, "static func recent()",
    ] {
      #expect(generated.contains(line), "\(generated)")
    }
  }

  @Test("equal models give equal files, which are not written again")
  func unchanged() throws {
    let folder = try Folder()
    let files = try generate(Command.samples + "/" + Self.samples[0], to: folder("Out"))
    func dates() throws -> [Date?] {
      try files.map { try FileManager.default.attributesOfItem(atPath: $0)[.modificationDate] as? Date }
    }
    let before = try dates()
    let again = try Command.run(
      "model", "swift", Command.samples + "/" + Self.samples[0], "--output", folder("Out"))
    #expect(again.code == 0)
    #expect(try dates() == before)
  }

  @Test(
    "an enumeration that cannot be is refused with entity and attribute",
    arguments: ["low, low", "low = x", "", "a = 70000", "a = 1"])
  func wrongEnumeration(_ text: String) throws {
    let folder = try Folder()
    let model = Self.odd.replacingOccurrences(of: "low = 1, high = 5, top", with: text)
    try Data(model.utf8).write(to: URL(filePath: folder("contents")))
    let result = try Command.run("model", "swift", folder("contents"), "--output", folder("Out"))
    #expect(result.code == 65 && result.errors.contains("Date.level"), "\(result.errors)")
    #expect(!FileManager.default.fileExists(atPath: folder("Out")))
  }

  /// A compiler run for each model takes minutes: without the variable, one of thirty is checked.
  private static let checkedModels: [String] = {
    if ProcessInfo.processInfo.environment["ATOMICSTORE_ALL_MODELS"] != nil { return corpusModels }
    return stride(from: 0, to: corpusModels.count, by: 30).map { corpusModels[$0] }
  }()

  @Test(
    "what is generated for third-party models compiles",
    .enabled(if: !corpusModels.isEmpty, "needs ../shared/corpus"), arguments: checkedModels)
  func corpusCompiles(_ model: String) throws {
    let folder = try Folder()
    let path = folder("Out")
    let result = try Command.run("model", "swift", Self.corpus + "/" + model, "--output", path, "--name", "Third")
    // Files that are not valid models are refused, which is tested elsewhere.
    guard result.code == 0 else {
      #expect(result.code == 65, "\(result.errors)")
      return
    }
    try typecheck(result.output.split(separator: "\n").map { "\(path)/\($0)" })
  }

  @Test("a file that was not generated is not replaced, and nothing is written")
  func handwritten() throws {
    let folder = try Folder()
    let own = folder("Employee.swift")
    try "// by hand\n".write(toFile: own, atomically: false, encoding: .utf8)
    let result = try Command.run(
      arguments: ["model", "swift", Command.samples + "/Company/Company.xcdatamodeld", "--output", folder.path])
    #expect(result.code == 73 && result.errors.contains("Employee.swift"), "\(result.errors)")
    #expect(try String(contentsOfFile: own, encoding: .utf8) == "// by hand\n")
    #expect(folder.names == ["Employee.swift"])
  }
}

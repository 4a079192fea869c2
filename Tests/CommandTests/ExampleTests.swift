import Foundation
import Testing

/// The examples in documentation comments compile.
@Suite("Examples in the documentation of symbols") struct ExampleTests {
  /// What the examples use without declaring it.
  private static let surroundings = """
    import AtomicStoreKit
    import AtomicStoreSPI
    import BuiltInStoreFormats
    import Foundation
    import Logging
    import ModelFiles
    import Observation
    import StoreCodecs
    import StoreContainers
    import StoreCoordination
    import StoreEditing
    import StoreImporting
    import StoreLogging
    import StoreMaintenance
    import StoreMigration
    import StoreReports

    struct Address: CodableAttributeValue { var street: String }
    final class Department: ManagedObject { @Managed("name") var name: String }
    final class Project: ManagedObject {
      @Managed("name") var name: String
      @Managed("isOpen") var isOpen: Bool
    }
    final class Employee: ManagedObject {
      @Managed("name") var name: String
      @Managed("salary") var salary: Int
      @Managed("projects") var projects: Set<Project>
      @Managed("department") var department: Department?
    }
    final class Person: ManagedObject {
      @Managed("name") var name: String
      @Managed("age") var age: Int
      @Managed("department") var department: Department?
    }
    @MainActor final class View {
      var (zoom, text, needsUpdate) = (1.0, "", false)
      func apply<Changes>(_ changes: Changes) {}
    }

    """
  private static let parameters = """
    model: ManagedObjectModel, other: ManagedObjectModel, description: ModelDescription, entity: Entity, slot: Slot,
    nodes: NodeTable, node: NodeHandle, reference: ObjectReference, builder: NodeTableBuilder, old: StoreSnapshot,
    new: StoreSnapshot, snapshot: StoreSnapshot, source: StoreSource, configuration: StoreConfiguration,
    coordinator: PersistentStoreCoordinator, store: PersistentStore, container: PersistentContainer,
    context: ManagedObjectContext, object: ManagedObject, employee: Employee, history: UndoHistory,
    error: PersistentStoreError, failure: ManagedObjectError, writer: ByteWriter, view: View, label: View, list: View,
    count: Int, names: [String], directory: String, path: String, file: URL
    """
  /// These show a part of a type, a test, or what is not public.
  private static let parts = [
    "Conformance/AtomicStoreConformance/Conformance.swift", "Graph/AtomicStoreKit/Objects/Managed.swift: private var",
    "SPI/AtomicStoreSPI/Store/StorePlugin.swift", "SPI/AtomicStoreSPI/Store/ChecksummedStore.swift",
    "Foundations/StoreFiles/Staging/Publication.swift",
    "Foundations/StoreFiles/System/DatabaseFileHold.swift",
  ]

  /// Each example, with the file and the line of its symbol.
  private static func examples() throws -> [(place: String, code: String)] {
    var examples: [(String, String)] = []
    for folder in ["Sources", "StoreFormats"] {
      let paths = try FileManager.default.subpathsOfDirectory(atPath: "\(Command.root)/\(folder)").sorted()
      for path in paths where path.hasSuffix(".swift") {
        let text = try String(contentsOfFile: "\(Command.root)/\(folder)/\(path)", encoding: .utf8)
        var code: [Substring]?
        for (number, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
          let line = line.drop { $0 == " " }
          if line == "/// ```swift" {
            code = []
          } else if line == "/// ```", let lines = code {
            examples.append(("\(path):\(number + 1)", lines.joined(separator: "\n")))
            code = nil
          } else {
            code?.append(line.dropFirst(4))
          }
        }
      }
    }
    return examples
  }

  /// Whether an example is a whole program, which other tests build, or leaves something out.
  private static func isPart(_ place: String, _ code: String) -> Bool {
    code.hasPrefix("import ") || code.contains("…")
      || parts.contains { part in
        let (file, start) = (part.prefix { $0 != ":" }, part.drop { $0 != ":" }.dropFirst(2))
        return place.hasPrefix(file) && code.hasPrefix(start)
      }
  }

  @Test(
    "all of them compile, more than a hundred",
    .enabled(if: GuideTests.canCompile, "swiftc, clang or python3 is not on this machine"))
  func compile() throws {
    let folder = try Folder()
    var (program, count) = (Self.surroundings, 0)
    for (place, code) in try Self.examples() where !Self.isPart(place, code) {
      count += 1
      program += """
        // \(place)
        @MainActor func example\(count)(
        \(Self.parameters)
        ) async throws {
        \(code)
        }

        """
    }
    #expect(count > 130)
    try program.write(toFile: folder("examples.swift"), atomically: false, encoding: .utf8)
    let result = try Command.shell(
      GuideTests.compiler + "swiftc $flags -suppress-warnings -typecheck -parse-as-library examples.swift",
      Command.root, in: folder.path)
    #expect(result.code == 0, "\(result.output)\(result.errors)")
  }
}

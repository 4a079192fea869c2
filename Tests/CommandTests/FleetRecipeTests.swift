import Foundation
import Testing

/// The recipes of the article on many stores, as they are there.
@Suite("Recipes for many stores") struct FleetRecipeTests {
  static let hasParallel: Bool = {
    let found = try? Command.run(arguments: ["-c", "parallel --version"], program: "/bin/sh")
    return found?.code == 0 && found?.output.contains("GNU") == true
  }()

  /// The first code block under a heading.
  private static func recipe(_ heading: String) throws -> String {
    let path = "\(Command.root)/Sources/Graph/AtomicStoreKit/AtomicStoreKit.docc/ManyStores.md"
    let text = try String(contentsOfFile: path, encoding: .utf8)
    let start = try #require(text.range(of: "\n### \(heading)\n"))
    let block = try #require(text[start.upperBound...].range(of: "```sh\n"))
    let end = try #require(text[block.upperBound...].range(of: "\n```"))
    return String(text[block.upperBound..<end.lowerBound])
  }

  /// A directory with `stores/` and `stores.list`.
  private static func fill(_ folder: borrowing Folder, count: Int) throws {
    try FileManager.default.createDirectory(atPath: folder("stores"), withIntermediateDirectories: true)
    for index in 0..<count {
      try FileManager.default.copyItem(atPath: Command.company, toPath: folder("stores/\(index).xml"))
    }
    let list = (0..<count).map { "stores/\($0).xml\n" }.joined()
    try Data(list.utf8).write(to: URL(filePath: folder("stores.list")))
  }

  private static func run(_ recipe: String, in folder: String, _ environment: [String: String] = [:]) throws
    -> Command.Result
  {
    let directory = (try #require(Command.path, "the command was not built") as NSString).deletingLastPathComponent
    let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
    return try Command.run(
      arguments: [], in: folder,
      environment: environment.merging(["PATH": "\(directory):\(path)", "LC_ALL": "C"]) { $1 }, shell: recipe)
  }

  @Test(
    "GNU parallel gives the results of one process", .enabled(if: hasParallel, "GNU parallel is not installed"))
  func parallel() throws {
    let folder = try Folder()
    try Self.fill(folder, count: 7)
    let recipe = try Self.recipe("GNU parallel")
    #expect(recipe.contains("-N 500"))
    let result = try Self.run(recipe.replacing("-N 500", with: "-N 2"), in: folder.path)
    #expect(result.code == 0, "\(result.errors)")
    let one = try Command.run(
      arguments: ["inspect", "--files-from", "stores.list"], in: folder.path)
    #expect(try Data(contentsOf: URL(filePath: folder("results.ndjson"))) == one.data)
  }

  @Test("the jobs of a Slurm array convert every store once, and may be repeated")
  func slurm() throws {
    let folder = try Folder()
    try Self.fill(folder, count: 5)
    let recipe = try Self.recipe("Slurm")
    for code: Int32 in [0, 1] {
      for task in 0..<6 {
        let result = try Self.run(
          recipe, in: folder.path, ["SLURM_ARRAY_TASK_ID": "\(task)", "SLURM_CPUS_PER_TASK": "2"])
        // Task 0 of 20 has no store among the first five.
        #expect(result.code == (task == 0 ? 0 : code), "\(result.errors)")
      }
      #expect(
        try FileManager.default.contentsOfDirectory(atPath: folder("converted/stores")).sorted()
          == (0..<5).map { "\($0).arrowstore" })
    }
  }
}

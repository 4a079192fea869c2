import ArgumentParser
import CommandSupport
import FoundationEssentials
import Glibc
import StoreReports

struct Report: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "report",
    abstract: "Write an HTML page about a store: entities, model, objects, problems, metadata.",
    discussion: """
        atomicstore report Company.xml -o company.html
        atomicstore report Library.sqlite -o library.html --rows 1000

      The page is one file that loads nothing and needs no network: entities with counts and distributions of their
      columns, the model as a diagram, the objects in tables with relationships as links, metadata, what 'check' finds,
      and search. The store is read even if its objects are damaged, and is not changed. Equal stores give equal
      pages. --json prints the numbers of objects and problems; without -o, --json writes no page.
      """)
  @Argument(help: "The store; - for standard input.") var store: String
  @OptionGroup(title: "Options for reading") var source: SourceOptions
  @OptionGroup(title: "Options for the result") var file: FileOutput
  @Option(help: "The maximum number of objects of each entity on the page.") var rows = 100_000
  @Option(name: .customLong("max-findings"), help: "The maximum number of problems of each kind on the page.")
  var maximum = 200
  @OptionGroup(title: "Common options") var common: CommonOptions

  func run() throws {
    try guarded(common) {
      guard rows >= 0, maximum >= 0 else {
        throw CommandFailure("--rows and --max-findings must not be negative", exitCode: 64)
      }
      let (coordinator, read) = try StoreReport.read(store, source, maximumFindingCount: maximum)
      defer { withExtendedLifetime(coordinator) {} }
      var report = read
      report.maximumRowCount = rows
      for model in source.models { try file.refuseToReplace(model: model) }
      try checkName()
      if file.output != nil || !common.json { try file.write(madeOf: [store]) { try report.write(to: $0) } }
      try tell(report)
    }
  }

  /// - Throws: A usage error for a file whose extension is not that of a page.
  private func checkName() throws {
    guard let path = file.path, !path.isEmpty else { return }
    try FileOutput.check(path, besides: FileOutput.places([store]), replaces: file.force)
    let given = PathParts.fileExtension(of: path)
    guard !["", "html", "htm"].contains(given.lowercased()) else { return }
    throw CommandFailure(
      "\(path): the extension '\(given)' does not identify a format of reports; use .html", exitCode: 64)
  }

  private func tell(_ report: StoreReport) throws {
    guard common.json else {
      if let path = file.path, isatty(STDERR_FILENO) == 1 {
        Diagnostics.say(
          "wrote \(path): \(Diagnostics.count(report.objects.count, "object")), \(Diagnostics.count(report.problemCount, "problem"))"
        )
      }
      return
    }
    let text = JSONValue.object([
      ("store", .string(Input.shown(store))), ("output", file.output.map { .string($0) } ?? .null),
      ("objects", .integer(report.objects.count)), ("problems", .integer(report.problemCount)),
    ]).text
    // The page is on standard output.
    if file.output == "-" { Diagnostics.say(text) } else { try Diagnostics.put(text + "\n") }
  }
}

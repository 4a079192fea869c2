import ArgumentParser
import CommandSupport
import FoundationEssentials
import Glibc
import StoreCodecs
import StoreReports

struct Report: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "report",
    abstract: "Write an HTML page about a store, or about what differs between two.",
    discussion: """
        atomicstore report Company.xml -o company.html
        atomicstore report Library.sqlite -o library.html --rows 1000
        atomicstore report old.xml new.xml -o diff.html

      The page is one file that loads nothing and needs no network: entities with counts and distributions of their
      columns, the model as a diagram, the objects in tables with relationships as links, metadata, what 'check' finds,
      and search. The store is read even if its objects are damaged, and is not changed. Equal stores give equal
      pages. --json prints the numbers of objects and problems; without -o, --json writes no page.

      With two stores the page shows what differs: numbers by entity, changed objects with both values, objects that
      only one has, both models in one diagram, and metadata. It can be filtered by kind, entity, property and text. Objects
      are matched as 'diff' does it, by entity and reference or by --key, and damaged stores are refused.

      On a terminal, without -o, the page is written to a file with the store's name in the current directory.
      """)
  @Argument(help: "The store; - for standard input.") var store: String
  @Argument(help: "A store to compare it with: what the first has become.") var other: String?
  @OptionGroup var keys: ObjectKeyOption
  @OptionGroup(title: "Options for reading") var source: SourceOptions
  @OptionGroup(title: "Options for the result") var file: FileOutput
  @Flag(help: "Show the page in the web browser once it is written.") var open = false
  @Option(
    help: """
      The maximum number of objects of each entity on the page (default: 100000). Of two stores, of those that are \
      changed, added and removed (default: 1000).
      """)
  var rows: Int?
  @Option(name: .customLong("max-findings"), help: "The maximum number of problems of each kind on the page.")
  var maximum = 200
  @OptionGroup(title: "Common options") var common: CommonOptions

  func run() throws {
    try guarded(common) {
      guard rows ?? 0 >= 0, maximum >= 0 else {
        throw CommandFailure("--rows and --max-findings must not be negative", exitCode: 64)
      }
      guard other != nil || !keys.isGiven else {
        throw CommandFailure("--key matches the objects of two stores, and one is named", exitCode: 64)
      }
      var report = self
      if file.output == nil, open || !common.json && isatty(STDOUT_FILENO) == 1 { report.file.output = defaultName }
      guard !open || report.file.path != nil else {
        throw CommandFailure("--open needs a file; give its name with -o", exitCode: 64)
      }
      if let other { try report.compare(with: other) } else { try report.describe() }
      if open, let path = report.file.path { try Self.show(path) }
    }
  }

  /// The name of the file where none is given.
  private var defaultName: String {
    func name(_ store: String) -> String { store == "-" ? "report" : PathParts.stem(of: Input.shown(store)) }
    return name(store) + (other.map { "-" + name($0) } ?? "") + ".html"
  }

  /// Hands the page to the desktop's browser, which replaces this process.
  private static func show(_ path: String) throws {
    var arguments: [UnsafeMutablePointer<CChar>?] = [strdup("xdg-open"), strdup(path), nil]
    execvp("xdg-open", &arguments)
    throw CommandFailure(
      "\(path) was written; xdg-open, which shows it, cannot be started: \(Descriptor.text(errno))", exitCode: 69)
  }

  private func describe() throws {
    let (coordinator, read) = try StoreReport.read(store, source, maximumFindingCount: maximum)
    defer { withExtendedLifetime(coordinator) {} }
    var report = read
    if let rows { report.maximumRowCount = rows }
    try write { try report.write(to: $0) }
    try tell(
      "\(Diagnostics.count(report.objects.count, "object")), \(Diagnostics.count(report.problemCount, "problem"))",
      [
        ("store", .string(Input.shown(store))), ("objects", .integer(report.objects.count)),
        ("problems", .integer(report.problemCount)),
      ])
  }

  private func compare(with other: String) throws {
    let (pair, read) = try ComparisonReport.read(store, other, source, keys)
    var report = read
    if let rows { report.maximumRowCount = rows }
    try write { try report.write(to: $0) }
    let counts = report.counts
    try tell(
      "\(Diagnostics.count(counts.changed, "object")) changed, \(counts.added) added, \(counts.removed) removed",
      [
        ("stores", .array([.string(pair.names.0), .string(pair.names.1)])), ("changed", .integer(counts.changed)),
        ("added", .integer(counts.added)), ("removed", .integer(counts.removed)),
        ("differences", .integer(report.differenceCount)),
      ])
  }

  private func write(_ page: (ByteWriter) throws -> Void) throws {
    for model in source.models { try file.refuseToReplace(model: model) }
    let stores = [store] + (other.map { [$0] } ?? [])
    try checkName(stores)
    if file.output != nil || !common.json { try file.write(madeOf: stores, page) }
  }

  /// - Throws: A usage error for a file whose extension is not that of a page.
  private func checkName(_ stores: [String]) throws {
    guard let path = file.path, !path.isEmpty else { return }
    try FileOutput.check(path, besides: FileOutput.places(stores), replaces: file.force)
    let given = PathParts.fileExtension(of: path)
    guard !["", "html", "htm"].contains(given.lowercased()) else { return }
    throw CommandFailure(
      "\(path): the extension '\(given)' does not identify a format of reports; use .html", exitCode: 64)
  }

  private func tell(_ summary: String, _ facts: [(String, JSONValue)]) throws {
    guard common.json else {
      if let path = file.path, isatty(STDERR_FILENO) == 1 { Diagnostics.say("wrote \(path): \(summary)") }
      return
    }
    let text = JSONValue.object(
      [facts[0], ("output", file.output.map { .string($0) } ?? .null)] + facts.dropFirst()
    ).text
    // The page is on standard output.
    if file.output == "-" { Diagnostics.say(text) } else { try Diagnostics.put(text + "\n") }
  }
}

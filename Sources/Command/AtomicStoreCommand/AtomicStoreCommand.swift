import ArgumentParser
import AtomicStoreSPI
import CommandSupport

struct AtomicStoreCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "atomicstore",
    abstract:
      "Read, query, convert, compare and edit stores: Core Data's SQLite, XML and binary stores, CSV, binary property lists, Arrow, SQLite and PostgreSQL databases.",
    discussion: """
        atomicstore inspect App.sqlite                # describe its content
        atomicstore fetch App.sqlite --entity Person  # print objects
        atomicstore convert App.sqlite App.csvstore   # to CSV, without loss; the source is not changed
        atomicstore diff App.sqlite App.csvstore      # 0 the same, 1 different, 2 error

      Store types: CoreDataSQLite, CoreDataBinary, XML, CSV, BinaryPropertyList, Arrow, SQLiteGraph, PostgreSQL.
      'atomicstore help formats' describes them; 'atomicstore help topics' lists more pages.
      """,
    version: StorePlugin.kitVersion,
    // Each has a commandName: from the type's name the parser would make one at every start, for all commands.
    groupedSubcommands: [
      CommandGroup(
        name: "Look",
        subcommands: [
          Inspect.self, Fetch.self, Dump.self, Extract.self, History.self, Report.self, BrowseCommand.self, Check.self,
          Metadata.self, PredicateCommand.self,
        ]),
      CommandGroup(name: "Convert", subcommands: [Convert.self, Import.self, Tables.self, Migrate.self]),
      CommandGroup(
        name: "Change",
        subcommands: [SetCommand.self, InsertCommand.self, DeleteCommand.self, PatchCommand.self, Anonymize.self]),
      CommandGroup(name: "Combine", subcommands: [Diff.self, Merge.self]),
      CommandGroup(name: "Models", subcommands: [Model.self]),
      CommandGroup(name: "Formats", subcommands: [Formats.self, Conform.self, NewFormat.self]),
    ])

  static func run() {
    Interrupt.watch()
    for argument in CommandLine.arguments { Input.hidePassword(of: argument) }
    HelpTopic.showIfAsked()
    CommandNames.check()
    runAsProgram(choices: Completions.choices)
  }
}

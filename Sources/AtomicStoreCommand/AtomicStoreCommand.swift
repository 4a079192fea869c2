import ArgumentParser
import AtomicStoreSPI
import CommandSupport

struct AtomicStoreCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "atomicstore",
    abstract:
      "Read, query, convert, compare and edit stores: Core Data's SQLite, XML and binary stores, CSV, property lists, Arrow, databases.",
    discussion: """
        atomicstore convert old.xml new.csvstore      # to CSV, without loss; the source is not changed
        atomicstore inspect new.csvstore --json       # describe its content
        atomicstore diff old.xml new.csvstore         # 0 the same, 1 different, 2 error

      'atomicstore help topics' lists pages about store types, their options, predicates and exit codes.
      """,
    version: StorePlugin.kitVersion,
    // Each has a commandName: from the type's name the parser would make one at every start, for all commands.
    subcommands: [
      Formats.self, Inspect.self, Report.self, BrowseCommand.self, Check.self, Convert.self, Import.self, Migrate.self,
      Merge.self,
      SetCommand.self,
      InsertCommand.self, DeleteCommand.self, PatchCommand.self, Anonymise.self, Diff.self, Dump.self, Fetch.self,
      PredicateCommand.self, Metadata.self,
      Model.self, Conform.self, NewFormat.self,
    ])

  static func run() {
    Interrupt.watch()
    for argument in CommandLine.arguments { Input.hidePassword(of: argument) }
    HelpTopic.showIfAsked()
    CommandNames.check()
    runAsProgram()
  }
}

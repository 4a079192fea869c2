import ArgumentParser
import AtomicStoreSPI
import CommandSupport

struct AtomicStoreCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "atomicstore",
    abstract: "Convert, inspect, compare and edit atomic stores: XML, binary property list, CSV.",
    discussion: """
      atomicstore convert old.xml new.csvstore      # to CSV, nothing lost, the source untouched
      atomicstore inspect new.csvstore --json       # what is in it
      atomicstore diff old.xml new.csvstore         # 0 the same, 1 different, 2 trouble

      Exit codes: 0 yes, 1 no (differences), 2 trouble in diff, 64 usage, 65 bad data, 66 no such input,
      69 a program that is needed is missing, 70 internal, 73 cannot create, 74 input or output, 77 permission, 129, 130 and 143 stopped by a signal.
      """,
    version: StorePlugin.kitVersion,
    subcommands: [
      Formats.self, Inspect.self, Check.self, Convert.self, Import.self, Migrate.self, Merge.self, SetCommand.self,
      InsertCommand.self, DeleteCommand.self, Anonymise.self, Diff.self, Dump.self, Fetch.self,
      PredicateCommand.self, Metadata.self,
      Model.self, Conform.self, NewFormat.self,
    ])

  static func run() {
    Interrupt.watch()
    runAsProgram()
  }
}

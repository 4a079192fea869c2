import ArgumentParser
import AtomicStoreSPI
import CommandSupport

struct AtomicStoreCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "atomicstore",
    abstract: "Convert, inspect, compare and edit atomic stores: XML, binary property list, CSV.",
    discussion: """
      atomicstore convert old.xml new.csvstore      # to CSV, without loss; the source is not changed
      atomicstore inspect new.csvstore --json       # describe its content
      atomicstore diff old.xml new.csvstore         # 0 the same, 1 different, 2 error

      Exit codes: 0 success, 1 differences, 2 error in diff, 64 usage, 65 invalid data, 66 input not found,
      69 required program missing, 70 internal error, 73 cannot create, 74 input or output, 77 permission, 129, 130 and 143 stopped by a signal.
      """,
    version: StorePlugin.kitVersion,
    subcommands: [
      Formats.self, Inspect.self, Check.self, Convert.self, Import.self, Migrate.self, Merge.self, SetCommand.self,
      InsertCommand.self, DeleteCommand.self, PatchCommand.self, Anonymise.self, Diff.self, Dump.self, Fetch.self,
      PredicateCommand.self, Metadata.self,
      Model.self, Conform.self, NewFormat.self,
    ])

  static func run() {
    Interrupt.watch()
    runAsProgram()
  }
}

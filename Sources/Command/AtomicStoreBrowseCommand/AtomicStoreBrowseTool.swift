package import AtomicStoreSPI
import CommandSupport

/// The program behind `atomicstore browse`, for programs that have their own formats compiled in. Its name is that
/// of the command with `-browse` added, and it is installed beside the command.
package enum AtomicStoreBrowseTool {
  /// Serves the store that the program's arguments name, until it is interrupted.
  ///
  /// - Parameters:
  ///   - formats: Formats beside those of the kit. A type whose name is taken is left out.
  ///   - databases: Incremental stores beside those of the kit.
  package static func main(formats: [any AtomicStore.Type] = [], databases: [any IncrementalStore.Type] = []) {
    InstalledFormats.addCompiledIn(formats, databases)
    Interrupt.watch()
    Browse.runAsProgram()
  }
}

package import AtomicStoreSPI
import CommandSupport

/// The program behind `atomicstore browse`, for programs that have their own formats compiled in. Its name is that
/// of the command with `-browse` added, and it is installed beside the command.
package enum AtomicStoreBrowseTool {
  /// Serves the store that the program's arguments name, until it is interrupted.
  ///
  /// - Parameter formats: Formats beside those of the kit. One whose name is taken is left out.
  package static func main(formats: [any AtomicStore.Type] = []) {
    for format in formats { InstalledFormats.add(format, from: "compiled in") }
    Interrupt.watch()
    Browse.runAsProgram()
  }
}

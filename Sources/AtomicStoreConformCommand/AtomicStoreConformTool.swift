import AtomicStoreConformance
package import AtomicStoreSPI
import CommandSupport
import Synchronization

/// The program behind `atomicstore conform`, for programs that have their own formats compiled in.
///
/// The program links the product `AtomicStoreConformanceFaults` beside this one; its name is that of the command with
/// `-conform` added, and it is installed beside the command:
///
/// ```swift
/// import AtomicStoreConformCommand
/// import MyFormat
///
/// AtomicStoreConformTool.main(formats: [MyStore.self])
/// ```
package enum AtomicStoreConformTool {
  /// Runs checks as the program's arguments say, and ends the program where one fails.
  ///
  /// - Parameter formats: Formats beside those of the kit. One whose name is taken is left out.
  package static func main(formats: [any AtomicStore.Type] = []) {
    for format in formats { InstalledFormats.add(format, from: "compiled in") }
    InstalledFormats.reportsRefusals.store(!ConformanceRun.isWorker, ordering: .relaxed)
    InstalledFormats.keepsPrograms.store(false, ordering: .relaxed)
    // A process that checks run in is ended by the one that started it.
    Interrupt.watch(listens: !ConformanceRun.isWorker) { ConformanceRun.abandonAll() }
    Conform.runAsProgram { Conform.completed(help: $0) }
  }
}

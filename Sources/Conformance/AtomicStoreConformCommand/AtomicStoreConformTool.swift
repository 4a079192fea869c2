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
  /// - Parameters:
  ///   - formats: Formats beside those of the kit. A type whose name is taken is left out.
  ///   - databases: Incremental stores beside those of the kit.
  package static func main(formats: [any AtomicStore.Type] = [], databases: [any IncrementalStore.Type] = []) {
    InstalledFormats.addCompiledIn(formats, databases)
    InstalledFormats.reportsRefusals.store(!ConformanceRun.isWorker, ordering: .relaxed)
    InstalledFormats.keepsPrograms.store(false, ordering: .relaxed)
    // A process that checks run in is ended by the one that started it.
    Interrupt.watch(listens: !ConformanceRun.isWorker) { ConformanceRun.abandonAll() }
    Conform.runAsProgram { Conform.completed(help: $0) }
  }
}

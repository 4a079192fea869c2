public import AtomicStoreSPI
import CommandSupport
import StorePrimitives

/// The complete command, for programs with their own formats compiled in:
///
/// ```swift
/// import AtomicStoreCommand
/// import MyFormat
///
/// AtomicStoreTool.main(formats: [MyStore.self])
/// ```
public enum AtomicStoreTool {
  /// Runs the command with the program's arguments, and exits the program if it fails.
  ///
  /// `conform` is a separate program, since system calls are replaced in it, and so is `browse`, a web server. If
  /// formats are compiled in, they must have them too, and are searched for under the program's name with the suffixes
  /// `-conform` and `-browse`; see `AtomicStoreConformTool` and `AtomicStoreBrowseTool`.
  ///
  /// - Parameters:
  ///   - formats: Formats in addition to those of the kit. A type whose name is already used is ignored, and `formats`
  ///     reports it.
  ///   - databases: Incremental stores in addition to those of the kit.
  public static func main(formats: [any AtomicStore.Type] = [], databases: [any IncrementalStore.Type] = []) {
    PagedMemory.useLargePagesForHeap()
    InstalledFormats.addCompiledIn(formats, databases)
    SubcommandProgram.takeOverIfAsked(hasOwnFormats: !formats.isEmpty || !databases.isEmpty)
    AtomicStoreCommand.run()
  }
}

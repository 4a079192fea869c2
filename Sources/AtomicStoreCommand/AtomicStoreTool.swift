public import AtomicStoreSPI
import CommandSupport

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
  /// `conform` is a separate program, since system calls are replaced in it. If formats are compiled in, it must have
  /// them too, and is searched for under the program's name with the suffix `-conform`; see `AtomicStoreConformTool`.
  ///
  /// - Parameter formats: Formats in addition to those of the kit. A format whose name is already used is ignored, and
  ///   `formats` reports it.
  public static func main(formats: [any AtomicStore.Type] = []) {
    for format in formats { InstalledFormats.add(format, from: "compiled in") }
    ConformProgram.takeOverIfAsked(hasOwnFormats: !formats.isEmpty)
    AtomicStoreCommand.run()
  }
}

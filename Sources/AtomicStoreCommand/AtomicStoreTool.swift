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
  /// `conform` is a separate program, since system calls are replaced in it, and so is `browse`, a web server. If
  /// formats are compiled in, they must have them too, and are searched for under the program's name with the suffixes
  /// `-conform` and `-browse`; see `AtomicStoreConformTool` and `AtomicStoreBrowseTool`.
  ///
  /// - Parameter formats: Formats in addition to those of the kit. A format whose name is already used is ignored, and
  ///   `formats` reports it.
  public static func main(formats: [any AtomicStore.Type] = []) {
    for format in formats { InstalledFormats.add(format, from: "compiled in") }
    SubcommandProgram.takeOverIfAsked(hasOwnFormats: !formats.isEmpty)
    AtomicStoreCommand.run()
  }
}

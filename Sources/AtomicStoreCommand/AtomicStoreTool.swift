public import AtomicStoreSPI
import CommandSupport

/// The whole command, for programs that have formats of their own compiled in:
///
/// ```swift
/// import AtomicStoreCommand
/// import MyFormat
///
/// AtomicStoreTool.main(formats: [MyStore.self])
/// ```
public enum AtomicStoreTool {
  /// Runs the command with the program's arguments, and ends the program where it fails.
  ///
  /// `conform` is a program of its own, since system calls are replaced in it: for formats compiled in it must have
  /// them too, and is looked for under the program's name with `-conform` added; see `AtomicStoreConformTool`.
  ///
  /// - Parameter formats: Formats beside those of the kit. One whose name is taken is left out, and `formats` says so.
  public static func main(formats: [any AtomicStore.Type] = []) {
    for format in formats { Tool.add(format, from: "compiled in") }
    ConformProgram.takeOverIfAsked(hasOwnFormats: !formats.isEmpty)
    AtomicStoreCommand.run()
  }
}

internal import CStorePlugin

/// What a plug-in declares in its file, before any of its code runs: which interface, kit and compiler it was built
/// with. The macro `ATOMICSTORE_PLUGIN` writes it.
struct PluginNote {
  let name: String
  private let major: UInt64
  private let minor: UInt64
  private let kit: String
  private let compiler: String
  private let interface: String

  /// Reads the note of a plug-in's file, and compares it with this program.
  ///
  /// - Throws: `.notSupported`, with both sides of what does not fit.
  static func read(_ path: String) throws(PersistentStoreError) -> PluginNote {
    let owner = Array(ASP_NOTE_OWNER.utf8) + [0]
    let notes = try LibraryFile.notes(path).filter { $0.type == ASP_NOTE_TYPE && $0.owner == owner }
    func refused(_ reason: String) -> PersistentStoreError {
      PersistentStoreError(.notSupported, reason, at: StoreLocation(file: path))
    }
    guard let first = notes.first else {
      throw refused(
        "it is a library, but does not have the note of a store plug-in; if it is one for an older version, build it again"
      )
    }
    guard notes.count == 1 else { throw refused("it has the notes of \(notes.count) plug-ins") }
    let note = try PluginNote(first.content, refused)
    if let reason = note.mismatch { throw refused("\(reason): build it again") }
    if let module = PluginModules.uncovered(in: try LibraryFile.neededSymbols(path)) {
      throw refused(
        "it uses the module \(module), which is not part of the interface of plug-ins: they may import "
          + PluginModules.interface.joined(separator: ", ") + " of the kit")
    }
    return note
  }

  /// - Parameter bytes: The description in the note: two numbers and four texts, see `asp_note`.
  private init(
    _ bytes: [UInt8], _ refused: (String) -> PersistentStoreError
  ) throws(PersistentStoreError) {
    let invalid = "its note is not one of a store plug-in"
    guard bytes.count >= 4 else { throw refused(invalid) }
    major = LibraryFile.number(bytes, at: 0, 2)
    minor = LibraryFile.number(bytes, at: 2, 2)
    let sizes = [ASP_NAME_SIZE, ASP_KIT_SIZE, ASP_COMPILER_SIZE, ASP_INTERFACE_SIZE].map { Int($0) }
    // Another version of the interface may have other texts.
    guard bytes.count == 4 + sizes.reduce(0, +) || major != asp_host().major else { throw refused(invalid) }
    var texts: [String] = []
    var place = 4
    for size in sizes {
      let text = bytes.dropFirst(place).prefix(size)
      place += size
      // It is shown to people: text of one line.
      texts.append(String(decoding: text.prefix { $0 >= UInt8(ascii: " ") }, as: UTF8.self))
    }
    (name, kit, compiler, interface) = (texts[0], texts[1], texts[2], texts[3])
  }

  /// What does not fit this program, with both sides; nil if everything does.
  private var mismatch: String? {
    let host = asp_host()
    if major != host.major || minor > host.minor {
      return "it was built for plug-in interface \(major).\(minor), this program has \(host.major).\(host.minor)"
    }
    let (hostKit, hostCompiler) = (String(cString: host.kit), String(cString: host.compiler))
    if kit != hostKit { return "it was built against version \(kit) of the kit, this program is \(hostKit)" }
    if compiler != hostCompiler { return "it was built by \(compiler), this program by \(hostCompiler)" }
    let hostInterface = String(cString: host.interface)
    if interface != hostInterface {
      return
        "it was built against other sources of version \(kit) of the kit (their digest is \(interface.prefix(12)), "
        + "that of this program's is \(hostInterface.prefix(12)))"
    }
    return nil
  }
}

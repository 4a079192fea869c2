import ArgumentParser
import AtomicStoreSPI
import FoundationEssentials
import Glibc
package import StoreCodecs
import Synchronization

/// Messages for the user, on standard error; data goes to standard output.
package enum Diagnostics {
  package static func say(_ text: String) { say(CollectionOfOne(text)) }

  /// Each on a line, written together.
  package static func say(_ lines: some Collection<String>) {
    guard !lines.isEmpty else { return }
    // Messages contain names and values from a store, and may reach a terminal now or when a log is read.
    var text = lines.map { TerminalText.escaped(shown($0)) + "\n" }.joined()
    // If standard error cannot be written, there is no way to report it.
    _ = text.withUTF8 { Descriptor.write(UnsafeRawBufferPointer($0), to: STDERR_FILENO) }
  }

  package static func error(_ failure: CommandFailure) {
    if failure.json {
      say(JSONValue.object([("exitCode", .integer(Int(failure.exitCode))), ("error", failure.errorJSON)]).text)
    } else {
      say("atomicstore: " + shown(failure.message))
    }
  }

  /// What was said about stores that were read.
  private static let notes = Mutex<(said: Set<String>, held: [String])>(([], []))
  private static let isHoldingNotes = Mutex(false)

  /// Says what could not be read of a store, or may be misleading: each once, whatever reads the store how often.
  static func tell(_ note: LoadNote, of store: String) {
    let description = "\(note)"
    // A note with a location begins with the file.
    let text = shown(description.hasPrefix(store) ? description : "\(store): \(description)")
    let isHolding = isHoldingNotes.withLock { $0 }
    let isNew = notes.withLock { notes in
      guard notes.said.insert(text).inserted else { return false }
      if isHolding { notes.held.append(text) }
      return true
    }
    if isNew, !isHolding { say("note: \(text)") }
  }

  /// Holds such notes back, so that standard error of a failure with `--json` has the failure only.
  static func holdNotes() { isHoldingNotes.withLock { $0 = true } }

  /// Says what was held back.
  static func releaseNotes() {
    let isHolding = isHoldingNotes.withLock { isHolding in
      defer { isHolding = false }
      return isHolding
    }
    guard isHolding else { return }
    let held = notes.withLock { $0.held }
    guard !held.isEmpty else { return }
    say(JSONValue.object([("notes", .array(held.map { .string($0) }))]).line)
  }

  /// The names under which the user knows the command's own files.
  private static let names = Mutex<[(path: String, name: String)]>([])

  /// Hides passwords: in everything that the command writes for people, and in the JSON that it writes about stores, a
  /// text is replaced by another.
  package static func hide(_ secret: String, as shown: String) {
    names.withLock { names in
      // In JSON it may look different.
      for (text, name) in [(secret, shown), (quoted(secret), quoted(shown))]
      where !names.contains(where: { $0.path == text }) {
        names.append((text, name))
      }
    }
  }

  private static func quoted(_ text: String) -> String { String(JSONValue.string(text).line.dropFirst().dropLast()) }

  /// Makes messages show `name` instead of the path of one of the command's own files.
  package static func show(_ path: String, as name: String) { names.withLock { $0.append((path, name)) } }

  /// Replaces the paths of the command's own files in a text by the names that the user knows.
  package static func shown(_ text: String) -> String {
    names.withLock { $0.reduce(text) { $0.replacingBytes($1.path, with: $1.name) } }
  }

  /// A number with its noun: `1 fault`, `2 faults`.
  package static func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }

  /// The width of standard output in characters; nil if it is not a terminal.
  package static var terminalWidth: Int? {
    guard isatty(STDOUT_FILENO) == 1 else { return nil }
    var size = winsize()
    guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }

  /// The width of help texts: `COLUMNS`, or the terminal's width, or 80.
  package static var helpWidth: Int {
    if let columns = ProcessInfo.processInfo.environment["COLUMNS"].flatMap({ Int($0) }), columns > 0 { return columns }
    return terminalWidth ?? 80
  }

  private static let colorMode = Mutex(ColorMode.auto)

  /// Sets what `--color` specifies.
  static func use(_ mode: ColorMode) { colorMode.withLock { $0 = mode } }

  /// Whether standard output has colors. By default it has them if it is a terminal, and neither `NO_COLOR` nor
  /// `TERM=dumb` is set.
  package static var usesColor: Bool {
    switch colorMode.withLock({ $0 }) {
    case .always: return true
    case .never: return false
    case .auto:
      let environment = ProcessInfo.processInfo.environment
      return isatty(STDOUT_FILENO) == 1 && environment["NO_COLOR"] ?? "" == "" && environment["TERM"] != "dumb"
    }
  }

  /// A color of the terminal.
  package enum Color: String {
    case bold = "1"
    case red = "31"
    case green = "32"
    case yellow = "33"

    /// A text between the control sequences of the color. The text must not contain control characters.
    package func around(_ text: String) -> String { "\u{1B}[\(rawValue)m\(text)\u{1B}[0m" }
  }

  /// Writes a line for each element, in color where that is used.
  package static func lines<Elements: Sequence>(
    _ elements: Elements, _ line: (Elements.Element) -> (text: String, color: Color?)
  ) throws {
    let usesColor = usesColor
    try stream(isFiltered: !usesColor) { writer in
      for element in elements {
        let (plain, color) = line(element)
        let text = shown(plain)
        if usesColor {
          let shown = TerminalText.escaped(text)
          writer.append((color.map { $0.around(shown) } ?? shown) + "\n")
        } else {
          writer.append(text + "\n")
        }
        try writer.flushIfNeeded()
      }
    }
  }

  /// Writes data to standard output. If the reader has closed it, the command ends quietly.
  package static func put(_ text: String) throws { try stream { $0.append(shown(text)) } }

  /// Prints what was done to a store. If that fails, standard error has it: the change stays.
  package static func put(_ text: String, after done: String) throws {
    do { try put(text) } catch {
      say(done)
      throw error
    }
  }

  /// Writes data piece by piece, with about a mebibyte at a time in memory.
  ///
  /// - Parameter isFiltered: Whether what a terminal would interpret is escaped; if not, `body` must do it.
  package static func stream(isFiltered: Bool = true, _ body: (ByteWriter) throws -> Void) throws {
    // On a pipe or in a file, data is written unchanged.
    let filter = isFiltered && isatty(STDOUT_FILENO) == 1 ? TerminalFilter() : nil
    let writer = ByteWriter { bytes throws(PersistentStoreError) in
      let error =
        filter?.filtered(bytes).withUnsafeBytes { Descriptor.write($0, to: STDOUT_FILENO) }
        ?? Descriptor.write(bytes, to: STDOUT_FILENO)
      guard error != 0 else { return }
      throw PersistentStoreError(
        error == EPIPE ? .cancelled : .inputOutput, "cannot write to standard output: \(Descriptor.text(error))")
    }
    do {
      try body(writer)
      try writer.finish()
      if let end = filter?.finish(), !end.isEmpty {
        _ = end.withUnsafeBytes { Descriptor.write($0, to: STDOUT_FILENO) }
      }
    } catch let error as PersistentStoreError where error.code == .cancelled {
      throw ExitCode(0)
    } catch let error as PersistentStoreError {
      throw CommandFailure(error, json: Arguments.askForJSON)
    }
  }
}

extension CommandFailure {
  /// The error as JSON, with the names that the user knows for the command's own files.
  package var errorJSON: JSONValue {
    let plain = JSONValue.object([("code", .string(Self.word(exitCode))), ("message", .string(message))])
    return (details ?? plain).mapStrings(Diagnostics.shown)
  }
}

/// The system's reads and writes, and its error messages.
package enum Descriptor {
  /// Writes all bytes.
  ///
  /// - Returns: 0, or the error number.
  package static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32 {
    var rest = bytes
    while let base = rest.baseAddress, !rest.isEmpty {
      let done = Glibc.write(descriptor, base, rest.count)
      if done >= 0 {
        rest = UnsafeRawBufferPointer(rebasing: rest[done...])
      } else if errno == EAGAIN {
        // Another process that shares the terminal or pipe has made it non-blocking.
        var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&room, 1, -1)
      } else if errno != EINTR {
        return errno
      }
    }
    return 0
  }

  /// Reads some bytes; none at the end.
  ///
  /// - Returns: The number of bytes, or the negative error number.
  package static func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    while true {
      let got = Glibc.read(descriptor, buffer.baseAddress, buffer.count)
      if got >= 0 { return got }
      if errno == EAGAIN {
        var more = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        poll(&more, 1, -1)
      } else if errno != EINTR {
        return -Int(errno)
      }
    }
  }

  package static func text(_ number: Int32) -> String { String(cString: strerror(number)) }
}

import ArgumentParser
import AtomicStoreSPI
import Foundation
import Glibc
package import StoreCodecs
import Synchronization

/// Talk for people, on standard error; data goes to standard output.
package enum Talk {
  package static func say(_ text: String) {
    // Names and values from a store are in messages, and messages go to a terminal, now or when a log is read.
    var text = TerminalText.escaped(text) + "\n"
    // Nobody is left to tell that nobody can be told.
    _ = text.withUTF8 { Descriptor.write(UnsafeRawBufferPointer($0), to: STDERR_FILENO) }
  }

  package static func error(_ failure: CommandFailure) {
    if failure.json {
      let plain = JSONValue.object([
        ("code", .string(CommandFailure.word(failure.exitCode))), ("message", .string(failure.message)),
      ])
      say(
        JSONValue.object([
          ("exitCode", .integer(Int(failure.exitCode))), ("error", (failure.details ?? plain).mapStrings(shown)),
        ]).text)
    } else {
      say("atomicstore: " + shown(failure.message))
    }
  }

  /// What the user knows the command's own files by.
  private static let names = Mutex<[(path: String, name: String)]>([])

  /// Makes messages say `name` instead of the path of a file of the command's own.
  package static func show(_ path: String, as name: String) { names.withLock { $0.append((path, name)) } }

  /// A text with what the user knows in place of the command's own files.
  package static func shown(_ text: String) -> String {
    names.withLock { $0.reduce(text) { $0.replacingOccurrences(of: $1.path, with: $1.name) } }
  }

  /// A number with its noun: `1 fault`, `2 faults`.
  package static func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }

  /// How many characters a line of standard output has; nil where it is no terminal.
  package static var terminalWidth: Int? {
    guard isatty(STDOUT_FILENO) == 1 else { return nil }
    var size = winsize()
    guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return Int(size.ws_col)
  }

  /// Data, on standard output. A reader that has gone ends the command quietly.
  package static func put(_ text: String) throws { try stream { $0.append(text) } }

  /// Data that comes bit by bit, a mebibyte of it in memory at a time.
  package static func stream(_ body: (ByteWriter) throws -> Void) throws {
    // On a pipe or in a file data is exact.
    let filter = isatty(STDOUT_FILENO) == 1 ? TerminalFilter() : nil
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

/// The system's reads and writes, and its own words for what went wrong.
package enum Descriptor {
  /// Writes all of it.
  ///
  /// - Returns: 0, or the number of the error.
  package static func write(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32) -> Int32 {
    var rest = bytes
    while let base = rest.baseAddress, !rest.isEmpty {
      let done = Glibc.write(descriptor, base, rest.count)
      if done >= 0 {
        rest = UnsafeRawBufferPointer(rebasing: rest[done...])
      } else if errno == EAGAIN {
        // Somebody who shares the terminal or the pipe made it so.
        var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        poll(&room, 1, -1)
      } else if errno != EINTR {
        return errno
      }
    }
    return 0
  }

  /// Reads a part; none at the end.
  ///
  /// - Returns: How many bytes, or the number of the error, negative.
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

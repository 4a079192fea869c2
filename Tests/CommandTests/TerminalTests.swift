import Foundation
import TestSupport
import Testing

/// The command with a terminal for its output.
enum Terminal {
  static func run(_ arguments: String..., columns: UInt16) throws -> (output: String, errors: String) {
    let (bytes, talk) = try run(arguments, columns: columns)
    return (String(decoding: bytes, as: UTF8.self).replacingOccurrences(of: "\r\n", with: "\n"), talk)
  }

  /// - Parameters:
  ///   - hasErrors: Whether standard error is the terminal too.
  ///   - environment: What is added to the environment of all tests, in which nothing is colored:
  ///     ``TestEnvironment/colors``.
  static func run(
    _ arguments: [String], columns: UInt16, hasErrors: Bool = false, environment: [String: String] = [:]
  ) throws -> (output: [UInt8], errors: String) {
    // As C's posix_openpt, unlockpt and ptsname do, which are not there for Swift.
    let master = open("/dev/ptmx", O_RDWR | O_NOCTTY)
    try #require(master >= 0)
    var lock: Int32 = 0
    var number: Int32 = 0
    let unlock: UInt = 0x4004_5431
    let askNumber: UInt = 0x8004_5430
    try #require(ioctl(master, unlock, &lock) == 0 && ioctl(master, askNumber, &number) == 0)
    let slave = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY)
    try #require(slave >= 0)
    var size = winsize(ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
    try #require(ioctl(slave, UInt(TIOCSWINSZ), &size) == 0)
    let process = Process()
    process.executableURL = URL(filePath: try #require(Command.path))
    process.arguments = arguments
    process.environment = TestEnvironment.variables(environment)
    process.standardOutput = FileHandle(fileDescriptor: slave, closeOnDealloc: false)
    let errors = Pipe()
    if hasErrors {
      process.standardError = FileHandle(fileDescriptor: slave, closeOnDealloc: false)
    } else {
      process.standardError = errors
    }
    try process.run()
    close(slave)
    if hasErrors { try errors.fileHandleForWriting.close() }
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    // With no one at the other end, reading is an error.
    while case let got = read(master, &buffer, buffer.count), got > 0 { bytes += buffer[..<got] }
    let talk = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    close(master)
    return (bytes, talk)
  }
}

@Suite("Tables on a terminal") struct TerminalTests {
  @Test(
    "no line is longer than the terminal; columns that do not fit are omitted and listed",
    arguments: [20, 40, 80, 132] as [UInt16])
  func narrow(_ columns: UInt16) throws {
    let (output, errors) = try Terminal.run("fetch", Command.company, "--entity", "Employee", columns: columns)
    // A row without values in what is shown is an empty line.
    let lines = output.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
    #expect(lines.count == 8)
    // Letters of these samples take one column, except for some names.
    #expect(lines[0].count <= columns && lines[1].count <= columns, "\(output)")
    let titles = lines[0].split(separator: " ").map(String.init)
    let widths = lines[1].split(separator: " ").map(\.count)
    #expect(titles.count == widths.count && titles.count < 21)
    // What is shown is useful.
    if columns > 20 { #expect(zip(titles, widths).allSatisfy { $0.hasSuffix("…") ? $1 >= 8 : true }) }
    #expect(errors.contains("not enough space for") && errors.contains("--columns"))
    for name in ["name", "salary", "department"] {
      let isShown = titles.contains { $0 == name || $0.hasSuffix("…") && name.hasPrefix($0.dropLast()) }
      #expect(isShown || errors.contains(name), "\(name) is neither shown nor named")
    }
  }

  @Test("a table that fits is not changed, and without a terminal all columns are printed")
  func wide() throws {
    let plain = try Command.run("fetch", Command.company, "--entity", "Employee", "--columns", "badge,name")
    let (output, errors) = try Terminal.run(
      "fetch", Command.company, "--entity", "Employee", "--columns", "badge,name", columns: 200)
    #expect(output == plain.output && errors.isEmpty)
    let all = try Command.run("fetch", Command.company, "--entity", "Employee")
    // The object, 21 attributes and to-one relationships, and one to-many relationship.
    #expect(all.output.split(separator: "\n")[1].split(separator: " ").count == 23 && all.errors.isEmpty)
  }
}

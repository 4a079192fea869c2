import Foundation

/// A server in its own process, so that its memory is its own.
final class ServerProcess {
  let name: String
  let port: Int
  private let process = Process()

  init(_ name: String, store: String) throws {
    self.name = name
    let output = Pipe()
    process.executableURL = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    process.arguments = ["serve", name, store]
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    var line = Data()
    while let byte = try output.fileHandleForReading.read(upToCount: 1), byte != Data("\n".utf8) { line += byte }
    guard let port = Int(String(decoding: line, as: UTF8.self)) else {
      throw Connection.Failure(description: "the server '\(name)' did not start")
    }
    self.port = port
  }

  /// The memory of the process that is in use, in bytes.
  var memory: Int {
    get throws {
      let status = try String(contentsOfFile: "/proc/\(process.processIdentifier)/status", encoding: .utf8)
      let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
      let kilobytes = line?.split { $0 == " " || $0 == "\t" }.dropFirst().first.flatMap { Int($0) }
      return (kilobytes ?? 0) * 1024
    }
  }

  /// Stops the server gracefully.
  ///
  /// - Throws: If it does not end well.
  func stop() throws {
    process.terminate()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw Connection.Failure(description: "the server '\(name)' ended with \(process.terminationStatus)")
    }
  }
}

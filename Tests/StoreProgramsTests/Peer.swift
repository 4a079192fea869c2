import AtomicStoreSPI
import FoundationEssentials
import Glibc
import TestSupport
import Testing

@testable import StorePrograms

/// A program in the language of the shell that describes a format, and does something wrong when it is asked for the
/// metadata of a store with a certain name, or to save one with a certain UUID.
struct Peer {
  let folder: TemporaryDirectory
  let path: String

  static let description =
    #"{"atomicstore":1,"type":"Peer","traits":{"extensions":["peer"]},"signatures":[{"text":"PEER"}]}"#

  /// - Parameters:
  ///   - cases: What it does, by the name of a store.
  ///   - description: What it answers to the first request.
  init(_ cases: [(String, String)] = [], save: String = "", description: String = Self.description) throws {
    folder = try TemporaryDirectory("peer")
    path = folder.path + "/peer"
    var script = """
      #!/bin/sh
      while read -r request; do
        case "$request" in
        *'"do":"describe"'*) printf '%s\\n' '\(description)' ;;

      """
    for (name, body) in cases { script += "  *'\"name\":\"\(name)\"'*) \(body) ;;\n" }
    script += "  *'\"do\":\"save\"'*) \(save) ;;\n  esac\ndone\n"
    try Self.write(script, to: path)
  }

  static func write(_ script: String, to path: String) throws {
    let file = try #require(fopen(path, "we"))
    fputs(script, file)
    fchmod(fileno(file), 0o755)
    fclose(file)
  }

  /// - Parameter change: Changes the limits.
  func load(_ change: (inout ProgramLimits) -> Void = { _ in }) throws -> any AtomicStore.Type {
    var limits = ProgramLimits([:])
    change(&limits)
    return try StoreProgram(loading: path, limits: limits).type
  }
}

extension AtomicStore {
  /// The error of reading the metadata of a store with a name.
  static func failure(_ name: String) -> PersistentStoreError? {
    do throws(PersistentStoreError) {
      var store = try Self(StoreConfiguration(path: "/store"))
      _ = try store.metadata(in: StoreSource(bytes: Array("PEER".utf8), name: name))
      return nil
    } catch { return error }
  }
}

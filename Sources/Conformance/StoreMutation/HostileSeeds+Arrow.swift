import AtomicStoreKit
import BuiltInStoreFormats
import FoundationEssentials

extension HostileReader {
  /// The files of a sample as an Arrow store: two tables and the metadata.
  static func arrowFiles(_ samples: String) throws -> [(name: String, bytes: [UInt8])] {
    let path =
      FileManager.default.temporaryDirectory.path(percentEncoded: false) + "/" + "seed-\(UUID().uuidString).arrowstore"
    defer { try? FileManager.default.removeItem(atPath: path) }
    _ = try StoreConverter(registry: .builtIn).convert(from: samples + "/FriendInfo/FriendInfo.xml", to: path)
    return try FileManager.default.contentsOfDirectory(atPath: path).sorted().filter { !$0.hasPrefix(".") }.map {
      ($0, Array(try Data(contentsOf: URL(filePath: path + "/" + $0))))
    }
  }

  /// The file of the directory that an input is in the place of.
  static func arrowMember(of input: [UInt8]) -> String {
    if input.starts(with: "bplist".utf8) { return "metadata.plist" }
    // The names of the columns are in each table.
    return input.split(separator: 0).contains { $0.ends(with: "ranking".utf8) } ? "FriendInfo.arrow" : "Person.arrow"
  }
}

extension Sequence where Element == UInt8 {
  fileprivate func ends(with suffix: String.UTF8View) -> Bool { Array(self).reversed().starts(with: suffix.reversed()) }
}

import AtomicStoreKit
import BuiltInStoreFormats
import Foundation
import TestSupport
import Testing

/// The page of Python that decodes property lists.
enum DecodingScript {
  static let python = ["/usr/bin/python3", "/usr/local/bin/python3", "/root/.pyenv/shims/python3"].first {
    FileManager.default.isExecutableFile(atPath: $0)
  }

  /// The rows of a store as the script prints them, numbers that JSON does not have as texts.
  static func rows(of path: String) throws -> [[String: Any]] {
    let output = try ChildProcess.output(
      of: try #require(python), [SampleStores.folder + "/../Scripts/decode-store.py", path],
      environment: ["PYTHONIOENCODING": "utf-8", "PATH": "/usr/bin:/bin"])
    // JSON has no not-a-number: Python writes one all the same.
    let text = output.replacingOccurrences(of: ": NaN", with: ": \"NaN\"")
      .replacingOccurrences(of: ": Infinity", with: ": \"Infinity\"")
    return try text.split(separator: "\n").map {
      try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
    }
  }
}

@Suite("The property list, read by a third-party program") struct BinaryPropertyListScriptTests {
  @Test(
    "a page of Python decodes it to the same values", .enabled(if: DecodingScript.python != nil, "python3 is not here"))
  func decodes() throws {
    let rows = try DecodingScript.rows(of: SampleStores.folder + "/Company/Company.plist")
    let expected = try SampleStores.company().nodes
    #expect(rows.count == expected.count)
    for row in rows {
      let entityName = try #require(row["entity"] as? String)
      let entity = try #require(expected.model.entity(named: entityName))
      let reference = try #require(row["reference"] as? Int)
      let node = try #require(expected.handle(for: .integer(Int64(reference)), entity: entity.index))
      for slot in entity.slots {
        let value = expected.value(slot: slot.index, of: node)
        let given = row[slot.name]
        let place = Comment(rawValue: "\(entityName)/\(reference).\(slot.name)")
        switch value {
        case .null:
          #expect(given is NSNull || (slot.attributeType == .undefined && given as? String == ""), place)
        case _ where slot.attributeType == .undefined: #expect(given as? String == value.typedText, place)
        case .boolean(let flag): #expect(given as? Bool == flag, place)
        case .integer(let number): #expect(given as? Int == Int(number), place)
        case .double(let number):
          #expect(number.isNaN ? given as? String == "NaN" : given as? Double == number, place)
        case .float(let number):
          #expect(
            number.isInfinite ? given as? String == "Infinity" : (given as? Double).map { Float($0) } == number, place)
        case .date(let date): #expect(given as? Double == date.timeIntervalSinceReferenceDate, place)
        case .string(let string):
          if slot.attributeType != .undefined {
            #expect((given as? String).map { Array($0.utf8) } == Array(string.utf8), place)
          } else {
            #expect(given as? String == value.typedText, place)
          }
        case .uri(let string): #expect(given as? String == string, place)
        case .decimal(let number):
          #expect(given as? String == (slot.attributeType == .undefined ? value.typedText : number.description), place)
        case .data(let data): #expect(given as? String == data.base64EncodedString(), place)
        case .uuid(let uuid):
          #expect(given as? String == (slot.attributeType == .undefined ? value.typedText : uuid.uuidString), place)
        case .toOne(let object): #expect(given as? Int == Int("\(object.reference)"), place)
        case .toMany(let list): #expect(given as? [Int] == list.compactMap { Int("\($0.reference)") }, place)
        }
      }
    }
  }
}

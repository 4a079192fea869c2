import AtomicStoreSPI
import Foundation
import ModelFiles
import Testing

@Suite("Files that are not models, or not supported")
struct ModelFileRefusalTests {
  private static func refusal(ofBytes bytes: [UInt8], named name: String) throws -> PersistentStoreError {
    try ModelFileSupport.withFolder { folder in
      try ModelFileSupport.put(bytes, at: "\(folder)/\(name)")
      return try ModelFileSupport.error { _ = try ModelFile.read(at: "\(folder)/\(name)") }
    }
  }

  @Test(
    "an unsupported file of the family is recognized by its bytes, and the error says what to do",
    arguments: [
      ("momv2$and more", "optimized compiled model (.omo)"),
      ("bplist00 NSMappingModel", "compiled mapping model (.cdm)"),
      ("<?xml version=\"1.0\"?><database><object type=\"XDDEVMAPPINGMODEL\"/></database>", "this is a mapping model"),
    ])
  func isRecognized(_ text: String, _ words: String) throws {
    let error = try Self.refusal(ofBytes: Array(text.utf8), named: "thing.bin")
    #expect(error.code == .notSupported)
    #expect(error.message.contains(words))
    #expect(error.location.file?.hasSuffix("thing.bin") == true)
  }

  @Test(
    "a file of another kind is not a model",
    arguments: [
      "bplist00 something else", "plain text", "<database/>", "<plist version=\"1.0\"><dict/></plist>", "\u{0}\u{1}",
    ])
  func refusesNonModel(_ text: String) throws {
    #expect(try Self.refusal(ofBytes: Array(text.utf8), named: "thing").code == .unrecognizedFormat)
  }

  @Test("an empty file and a missing one have different errors")
  func emptyAndMissing() throws {
    #expect(try Self.refusal(ofBytes: [], named: "contents").code == .malformed)
    let error = try ModelFileSupport.error { _ = try ModelFile.read(at: "/nonexistent/X.xcdatamodeld") }
    #expect(error.code == .notFound)
  }

  @Test("a merge conflict is malformed, with its line and column")
  func mergeConflict() throws {
    let text = "<model>\n    <entity name=\"A\"/>\n<<<<<<< HEAD\n    <entity name=\"B\"/>\n=======\n</model>"
    let error = try ModelFileSupport.error { _ = try ModelFileSupport.read(text) }
    #expect(error.code == .malformed)
    #expect(error.location.line == 3)
    #expect(error.location.column != nil)
  }

  @Test("text between elements is malformed: it is left over from a merge")
  func strayText() throws {
    let error = try ModelFileSupport.error {
      _ = try ModelFileSupport.read(elements: "<entity name=\"A\"/>\n=======\n<entity name=\"B\"/>")
    }
    #expect(error.code == .malformed && error.message.contains("merge"))
  }

  @Test("a store, and the list of a compiled model's versions, are distinguished from models")
  func relatives() throws {
    for (text, words) in [
      ("<?xml version=\"1.0\"?><database></database>", "store in Core Data's XML format"),
      ("bplist00 NSManagedObjectModel_VersionHashes", "versions of a compiled model"),
    ] {
      let error = try Self.refusal(ofBytes: Array(text.utf8), named: "thing")
      #expect(error.code == .unrecognizedFormat && error.message.contains(words))
    }
  }

  @Test("directories of compiled, old and mapping models are recognized by their content")
  func folders() throws {
    for (member, words) in [
      ("X.xcmappingmodel/xcmapping.xml", "mapping model")
    ] {
      try ModelFileSupport.withFolder { folder in
        try ModelFileSupport.put([1], at: "\(folder)/\(member)")
        let path = folder + "/" + (member.split(separator: "/").first.map(String.init) ?? "")
        let error = try ModelFileSupport.error { _ = try ModelFile.read(at: path) }
        #expect(error.code == .notSupported && error.message.contains(words), "\(member): \(error)")
      }
    }
    try ModelFileSupport.withFolder { folder in
      try ModelFileSupport.put([1], at: "\(folder)/thing.txt")
      let error = try ModelFileSupport.error { _ = try ModelFile.read(at: folder) }
      #expect(error.code == .unrecognizedFormat)
    }
  }

  @Test(
    "invalid content of a model is an error with its name and line",
    arguments: [
      ("<entity name=\"A\" parentEntity=\"Gone\"/>", "'Gone'", "A"),
      ("<entity name=\"A\" parentEntity=\"B\"/><entity name=\"B\" parentEntity=\"A\"/>", "A, B", "A"),
      ("<entity name=\"A\" parentEntity=\"A\"/>", "cycle", "A"),
      ("<entity/>", "has no name", nil),
      ("<entity name=\"A\"><attribute/></entity>", "has no name", "A"),
      ("<entity name=\"A\"><attribute name=\"x\" attributeType=\"Integer 128\"/></entity>", "'Integer 128'", "A"),
      ("<entity name=\"A\"><relationship name=\"r\"/></entity>", "no destination", "A"),
      (
        "<entity name=\"A\"><relationship name=\"r\" destinationEntity=\"A\" deletionRule=\"Explode\"/></entity>",
        "'Explode'", "A"
      ),
      (
        "<entity name=\"A\"><relationship name=\"r\" destinationEntity=\"A\" maxCount=\"many\"/></entity>",
        "maxCount=\"many\"", "A"
      ),
      ("<entity name=\"A\"><fetchedProperty name=\"f\"/></entity>", "no fetch request", "A"),
    ])
  func isRefused(_ elements: String, _ words: String, _ entity: String?) throws {
    let error = try ModelFileSupport.error { _ = try ModelFileSupport.read(elements: elements) }
    #expect(error.code == .invalidModel)
    #expect(error.message.contains(words))
    #expect(error.location.line == 2)
    #expect(error.location.entity == entity)
  }

  @Test("the number of inheritance levels is limited")
  func deepParents() throws {
    func chain(_ count: Int) -> String {
      // Children before their parents, too.
      (1...count).reversed().map { "<entity name=\"E\($0)\" parentEntity=\"E\($0 - 1)\"/>" }.joined()
        + "<entity name=\"E0\"/>"
    }
    let sound = try ModelFileSupport.read(elements: chain(100))
    #expect(sound.description.problems() == [])
    for count in [101, 30_000] {
      let error = try ModelFileSupport.error { _ = try ModelFileSupport.read(elements: chain(count)) }
      #expect(error.code == .limitExceeded)
    }
  }
}

import AtomicStoreKit
import BuiltInStoreFormats
import Foundation
import ModelFiles
import StoreCodecs
import StoreMutation
import TestSupport
import Testing

/// Attacks that are known by name, where no other suite has them. Entities, document types, levels, cycles, counts and
/// offsets are with the codecs' tests and the harness's checks HXM, HBP and HCS.
@Suite("Known attacks") struct KnownAttackTests {
  private let directory: TemporaryDirectory
  private var folder: String { directory.path }
  init() throws { directory = try TemporaryDirectory("attack") }

  private func open(_ path: String, _ options: StoreOptions = [:]) throws -> PersistentStore {
    try PersistentStoreCoordinator(registry: .builtIn).addPersistentStore(at: path, options: options, isReadOnly: true)
  }
  private func refusal(_ path: String, _ options: StoreOptions = [:]) throws -> PersistentStoreError {
    do {
      _ = try open(path, options)
    } catch let error as PersistentStoreError {
      return error
    }
    throw Opened()
  }
  private struct Opened: Error {}
  private func write(_ bytes: [UInt8], _ name: String) throws -> String {
    let path = folder + "/" + name
    try Data(bytes).write(to: URL(filePath: path))
    return path
  }

  @Test("arrays that repeatedly contain each other, in 158 bytes, are refused at once", .timeLimit(.minutes(60)))
  func sharedReferences() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    // Nine arrays of nine references to the next, and a number at the end: 387 million values.
    var bytes = Array("bplist00".utf8)
    var offsets: [UInt8] = []
    for level in UInt8(0)..<9 {
      offsets.append(UInt8(bytes.count))
      bytes += [0xA9] + [UInt8](repeating: level + 1, count: 9)
    }
    offsets.append(UInt8(bytes.count))
    bytes += [0x09]
    let table = UInt8(bytes.count)
    bytes +=
      offsets + [0, 0, 0, 0, 0, 0, 1, 1] + [0, 0, 0, 0, 0, 0, 0, 10] + [0, 0, 0, 0, 0, 0, 0, 0] + [
        0, 0, 0, 0, 0, 0, 0, table,
      ]
    #expect(bytes.count < 158)
    do {
      _ = try PropertyList.decodeBinary(bytes)
      Issue.record("it was read")
    } catch {
      #expect(error.code == .limitExceeded)
      #expect(error.location.offset != nil)
    }
  }

  @Test(
    "a hundred thousand names of elements, or of attributes, are refused at the first unknown one",
    .timeLimit(.minutes(60)),
    arguments: [true, false])
  func names(_ areElements: Bool) throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    var text = try String(contentsOfFile: MutationTests.samples + "/FriendInfo/FriendInfo.xml", encoding: .utf8)
      .replacing("</database>", with: "")
    for number in 0..<100_000 {
      text +=
        areElements ? "<e\(number)/>" : "<object type=\"PERSON\" id=\"z\(number + 100)\" a\(number)=\"\"></object>"
    }
    let error = try refusal(try write(Array((text + "</database>").utf8), "names.xml"))
    #expect(error.code == .malformed, "\(error)")
    #expect(error.location.line != nil)
  }

  @Test(
    "a field of a hundred million bytes is read, or if its quote is not closed refused with the line of the quote",
    .timeLimit(.minutes(60)))
  func longField() throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let count = 100_000_000
    var bytes = Array("id:Reference,name:String\n1,short\n2,\"".utf8)
    bytes.reserveCapacity(count + 100)
    bytes += [UInt8](repeating: 0x2C, count: count)
    let unterminated = try refusal(try write(bytes, "Person.csv"))
    #expect(unterminated.code == .malformed)
    #expect(unterminated.location.line == 3)
    bytes += Array("\"\n".utf8)
    let store = try open(try write(bytes, "Person.csv"))
    let node = try #require(store.nodes.handle(for: ObjectReference(entityName: "Person", reference: .integer(2))))
    guard case .string(let name)? = store.nodes.value(forKey: "name", of: node) else {
      Issue.record("there is no name")
      return
    }
    #expect(name.utf8.count == count)
  }

  @Test(
    "a directory's metadata cannot refer to a file outside of it",
    arguments: [
      "../outside.csv", "/etc/hostname", "./Person.csv", "x/../Person.csv", "..", "", "linked.csv", "Person.csv\0",
    ])
  func members(_ name: String) throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let store = folder + "/Store.csvstore"
    try FileManager.default.copyItem(atPath: MutationTests.samples + "/FriendInfo/FriendInfo.csvstore", toPath: store)
    // What would be read if the name were followed.
    try FileManager.default.copyItem(atPath: store + "/Person.csv", toPath: folder + "/outside.csv")
    try FileManager.default.createSymbolicLink(
      atPath: store + "/linked.csv", withDestinationPath: folder + "/outside.csv")
    let metadata = try String(contentsOfFile: store + "/metadata.plist", encoding: .utf8)
    let shown = name.replacing("\0", with: "&#0;")
    try Data(metadata.replacing("<string>Person.csv</string>", with: "<string>\(shown)</string>").utf8).write(
      to: URL(filePath: store + "/metadata.plist"))
    for options in [[:], ["edited": "accept"]] as [StoreOptions] {
      let error = try refusal(store, options)
      #expect([.notFound, .malformed, .changedOnDisk].contains(error.code), "\(error)")
      #expect(error.location.file != nil)
    }
  }

  @Test(
    "bytes that are not UTF-8, and NULs, are refused in every text format, with their line",
    arguments: [[0], [0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80]] as [[UInt8]])
  func badText(_ bad: [UInt8]) throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let sample = MutationTests.samples + "/FriendInfo/FriendInfo"
    for (file, mark) in [
      (".xml", "since school"), (".csvstore/Person.csv", "Shelly"),
      (".xcdatamodeld/FriendInfo.xcdatamodel/contents", "comment"),
    ] {
      var bytes = Array(try Data(contentsOf: URL(filePath: sample + file)))
      let place = try #require(bytes.firstRange(of: Array(mark.utf8)))
      bytes.replaceSubrange(place.lowerBound..<place.lowerBound + 1, with: bad)
      do {
        if file.hasSuffix("contents") {
          _ = try ModelFile.read(at: try write(bytes, "contents"))
        } else {
          _ = try open(try write(bytes, file.hasSuffix("csv") ? "Person.csv" : "store.xml"))
        }
        Issue.record("\(file) was read")
      } catch let error as PersistentStoreError {
        #expect(error.code == .malformed, "\(file): \(error)")
        #expect(error.location.line != nil, "\(file): \(error)")
      }
    }
  }

  @Test(
    "predicates of a hundred thousand levels, and of a million characters, are refused with a column",
    .timeLimit(.minutes(60)))
  func predicates() throws {
    for text in [
      String(repeating: "(", count: 100_000), String(repeating: "NOT ", count: 100_000) + "TRUEPREDICATE",
      String(repeating: "-", count: 100_000) + "1 == 1",
      String(repeating: "a.", count: 100_000) + "b == 1", "a == '" + String(repeating: "x", count: 1_000_001) + "'",
    ] {
      do {
        _ = try FetchPredicate(format: text)
        Issue.record("\(text.prefix(20)) was read")
      } catch {
        #expect(error.column >= 1)
        #expect(error.description.utf8.count < 2000)
      }
    }
  }

  @Test(
    "a URI with hidden bytes is not an object's", arguments: ["%00", "%", "%ff", "%2", "%zz", "é%80", "/", "\0%C0%80"])
  func uris(_ tail: String) {
    let text = "x-coredata://5B1D9F0C-58F3-4C5A-9E0B-0C0FFEE0C0DE/Employee/ps" + tail
    // A NUL that is escaped is text like any other: it comes back escaped.
    #expect(ManagedObjectID(uriRepresentation: text)?.uriRepresentation == (tail == "%00" ? text : nil))
  }

  @Test(
    "two factors that take few bytes each are read, or refused with the location, and their product is never allocated",
    .timeLimit(.minutes(60)),
    arguments: ProductShape.all.share(of: "products", name: \.name))
  func products(_ shape: ProductShape) throws {
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let path = try write(shape.bytes, shape.fileName)
    var found = ProductShape.Outcome.opens(0)
    var place = StoreLocation()
    do {
      if shape.reader == .model {
        _ = try ManagedObjectModel(ModelFile.read(at: path).description)
      } else {
        found = .opens(try open(path).nodes.count)
      }
    } catch let error as PersistentStoreError {
      guard case .refused(_, let named) = shape.outcome else { throw error }
      found = .refused(error.code.description, named)
      place = error.location
      #expect(error.location.file?.hasSuffix(shape.fileName) == true, "\(error)")
      #expect(error.description.utf8.count < 2000)
    } catch let error as InvalidModelError {
      let limit = try #require(error.errors.first { $0.isLimit })
      found = .refused("limitExceeded", .entity)
      place.entity = limit.entityName
    }
    #expect(found == shape.outcome)
    switch found {
    case .opens: break
    case .refused(_, .line): #expect(place.line != nil)
    case .refused(_, .offset): #expect(place.offset != nil)
    case .refused(_, .entity): #expect(place.entity != nil)
    case .refused(_, .property): #expect(place.entity != nil && place.property != nil)
    }
  }
}

import AtomicStoreSPI
import Foundation
import ModelFiles
import Testing

@Suite("Third-party model files", .enabled(if: ModelFileSupport.hasCorpus, "needs ../shared/corpus"))
struct ModelFileCorpusTests {
  static let contents = ModelFileSupport.corpusFiles("models") { $0.hasSuffix("contents") }

  /// In three versions of one app's model two relationships take the same one for their inverse.
  private static func namesOneInverseTwice(_ path: String) -> Bool { path.contains("ArtsyPartner.xcdatamodeld") }

  /// Xcode builds them, with a warning.
  ///
  /// - Returns: Whether this version of the model is one of them.
  private func expectOneWay(_ model: ManagedObjectModel, _ path: String) throws -> Bool {
    let warnings = model.warnings.filter { $0.code == .inverseMismatch }
    #expect(warnings.allSatisfy { $0.entityName == "Image" && $0.message.hasSuffix("one-way") }, "\(path): \(warnings)")
    for warning in warnings {
      let entity = try #require(model.entity(named: warning.entityName ?? ""))
      let slot = try #require(entity.slot(named: warning.propertyName ?? ""))
      #expect(entity.slots[slot].inverseSlot == nil && entity.slots[slot].relationship?.inverseName != nil, "\(path)")
    }
    return !warnings.isEmpty
  }

  @Test("every model that Xcode accepted is accepted")
  func everyModelIsRead() throws {
    #expect(Self.contents.count > 100)
    var oneWay = 0
    for path in Self.contents {
      do {
        let file = try ModelFile.read(at: path)
        #expect(!file.description.entities.isEmpty, "\(path)")
        // Bounds that do not fit their type are all that is odd; what no one knows does not occur.
        for warning in file.warnings { #expect(warning.text.contains("is not a value of type"), "\(path): \(warning)") }
        let errors = file.description.problems().filter { $0.severity == .error }
        #expect(errors == [], "\(path)")
        let model = try ManagedObjectModel(file.description)
        #expect(model.entityCount > 0)
        if Self.namesOneInverseTwice(path), try expectOneWay(model, path) { oneWay += 1 }
      } catch {
        Issue.record("\(path): \(error)")
      }
    }
    #expect(oneWay == 3)
  }

  @Test("a model that is written and read again is the same, and further writing does not change its bytes")
  func writtenModelsReadBackEqual() throws {
    var equalBytes = 0
    for path in Self.contents {
      let model = try ModelFile.read(at: path).description
      let bytes = try ModelFile.contents(of: model)
      let again = try ModelFileSupport.read(String(decoding: bytes, as: UTF8.self))
      #expect(again.description == model, "\(path)")
      #expect(try ModelFile.contents(of: again.description) == bytes, "\(path)")
      let original = try String(contentsOfFile: path, encoding: .utf8)
      let written = String(decoding: bytes, as: UTF8.self)
      if original == written { equalBytes += 1 }
      // The others spell a whole number otherwise, hold empty lists, or end in a line break.
      let isSame = Self.normalized(original) == Self.normalized(written)
      #expect(isSame, "\(path)")
    }
    #expect(
      equalBytes * 5 >= Self.contents.count * 4, "\(equalBytes) of \(Self.contents.count) files are equal byte for byte"
    )
  }

  /// What a file says, spelled one way: no layout, no empty `userInfo`, whole numbers without a point.
  private static func normalized(_ text: String) -> String {
    text.replacing(#/\n */#, with: "").replacing("<userInfo/>", with: "")
      .replacing(#/"><\/(attribute|entity|relationship)>/#, with: "\"/>").replacing(#/\.0"/#, with: "\"")
  }

  @Test("a model has no differences from itself")
  func differences() throws {
    for path in Self.contents {
      let description = try ModelFile.read(at: path).description
      let model = try ManagedObjectModel(description)
      #expect(model.differences(from: description, includingEverything: true) == [])
      #expect(try ModelDescription(propertyList: description.propertyList) == description)
    }
  }
}

import AtomicStoreSPI
import Foundation
import ModelFiles
import Testing

@Suite("Model files of other people", .enabled(if: ModelFileSupport.hasCorpus, "needs ../shared/corpus"))
struct ModelFileCorpusTests {
  static let contents = ModelFileSupport.corpusFiles("models") { $0.hasSuffix("contents") }

  @Test("every model is read, and freezes")
  func everyModelIsRead() throws {
    #expect(Self.contents.count > 100)
    for path in Self.contents {
      do {
        let file = try ModelFile.read(at: path)
        #expect(!file.description.entities.isEmpty, "\(path)")
        for warning in file.warnings { print("WARN \(warning) \(path.suffix(60))") }
        _ = try ManagedObjectModel(file.description)
      } catch {
        Issue.record("\(path): \(error)")
      }
    }
  }

  @Test("a model that is written and read again is the same, and its bytes do not change any more")
  func writtenModelsReadBackEqual() throws {
    var equalBytes = 0
    for path in Self.contents {
      let model = try ModelFile.read(at: path).description
      let bytes = ModelFile.contents(of: model)
      let again = try ModelFileSupport.read(String(decoding: bytes, as: UTF8.self))
      #expect(again.description == model, "\(path)")
      #expect(ModelFile.contents(of: again.description) == bytes, "\(path)")
      if try Array(Data(contentsOf: URL(fileURLWithPath: path))) == bytes { equalBytes += 1 }
    }
    print("EQUAL \(equalBytes) of \(Self.contents.count)")
  }
}

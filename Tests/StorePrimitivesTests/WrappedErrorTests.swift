import StorePrimitives
import Testing

private struct LibraryError: Error, CustomStringConvertible {
  var description: String { "no such table" }
}

@Suite("Errors of libraries") struct WrappedErrorTests {
  @Test("another error becomes the cause, and its text the message, once")
  func foreign() {
    let error = PersistentStoreError(wrapping: LibraryError(), at: StoreLocation(file: "a", line: 2))
    #expect(error.code == .malformed && error.underlying is LibraryError)
    #expect(error.description == "a:2: no such table")
    #expect(PersistentStoreError(wrapping: LibraryError(), as: .inputOutput, at: StoreLocation()).code == .inputOutput)
  }

  @Test("one of the kit's keeps code and message, and gets what is missing of its location")
  func own() {
    let inner = PersistentStoreError(.limitExceeded, "too deep", at: StoreLocation(line: 7), underlying: LibraryError())
    let error = PersistentStoreError(wrapping: inner, as: .malformed, at: StoreLocation(file: "a", line: 2))
    #expect(error.code == .limitExceeded && error.description == "a:7: too deep (no such table)")
  }
}

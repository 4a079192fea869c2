import AtomicStoreSPI
import StoreCodecs

extension DocumentReader {
  func malformed(_ message: String) -> PersistentStoreError {
    PersistentStoreError(.malformed, message, at: StoreLocation(file: file))
  }

  func unexpected(_ name: XMLName, in element: String) -> PersistentStoreError {
    malformed("a <\(name.string)> is not allowed in \(element)")
  }

  func missing(_ attribute: String, in element: String) -> PersistentStoreError {
    malformed("the attribute '\(attribute)' of <\(element)> is missing")
  }

  func unknownAttribute(_ name: XMLName?, of element: String) -> PersistentStoreError {
    malformed("the attribute '\(name?.string ?? "")' of <\(element)> is unknown")
  }

  func refuseAttributes(_ attributes: borrowing XMLAttributes) throws(PersistentStoreError) {
    guard attributes.count == 0 else {
      throw malformed("unknown attribute '\(attributes.name(0)?.string ?? "")'")
    }
  }
}

/// Reads only the head, and ends as soon as it is complete.
final class HeaderReader: DocumentReader {
  init(file: String) { super.init(file: file, wantsHeadOnly: true) }
}

import AtomicStoreSPI
import FoundationEssentials

/// The content of a store's head.
struct StoreHeader {
  var declaration = XMLDeclaration.standaloneYes
  var uuid: UUID?
  var lastReference: Int64 = 0
  /// The line that the head ends on.
  var endLine = 0
  /// All entries, including those of this format.
  var entries = PropertyListDictionary()
}

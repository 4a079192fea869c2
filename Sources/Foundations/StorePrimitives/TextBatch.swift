/// Texts whose numbers are found together, see ``TextNumbers``.
package struct TextBatch: Sendable {
  /// The bytes of all texts, one text after the other. What is appended belongs to the next text, see ``endText()``.
  package var bytes: [UInt8] = []
  /// Where each text ends.
  var ends: [Int] = []
  /// What is found of each text.
  var found: [Found] = []
  /// The numbers of the texts, once they are added.
  var numbers: [Int] = []

  struct Found {
    var hash: UInt32
    /// The number plus one of the text that may be equal; 0 for none.
    var number: UInt32
  }

  /// How many texts are worth adding together: many more searches than a processor does at once, and less than its
  /// first cache.
  package static let size = 256
  /// How many bytes are: long texts take more time than the memory is waited for.
  private static let byteCount = 1 << 18

  package init() {}

  /// The number of texts.
  package var count: Int { ends.count }

  /// Whether the batch has ``size`` texts, or long ones.
  package var isFull: Bool { ends.count >= Self.size || bytes.count >= Self.byteCount }

  /// Ends the text to which bytes were appended.
  package mutating func endText() { ends.append(bytes.count) }

  /// Forgets what was appended since the last text ended.
  package mutating func cancelText() { bytes.removeLast(bytes.count - (ends.last ?? 0)) }

  /// Adds a text.
  package mutating func append(_ text: UnsafeBufferPointer<UInt8>) {
    bytes.append(contentsOf: text)
    endText()
  }
}

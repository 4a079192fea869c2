/// One file of a store with other bytes.
struct Damage: Sendable {
  var label: String
  /// Empty for a store of one file.
  var member: String
  private let original: [UInt8]
  private let change: (position: Int, byte: UInt8)?

  init(label: String, member: String, bytes: [UInt8]) {
    self.label = label
    self.member = member
    original = bytes
    change = nil
  }

  /// One byte replaced. The copy of the file is made when it is asked for: there may be thousands of damages to one
  /// file.
  init(label: String, member: String, of original: [UInt8], at position: Int, byte: UInt8) {
    self.label = label
    self.member = member
    self.original = original
    change = (position, byte)
  }

  var bytes: [UInt8] {
    guard let change else { return original }
    var bytes = original
    bytes[change.position] = change.byte
    return bytes
  }
}

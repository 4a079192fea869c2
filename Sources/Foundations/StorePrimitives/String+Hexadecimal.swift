extension String {
  /// The bytes as text: two lowercase hexadecimal digits for each.
  package init(hexadecimal bytes: some Collection<UInt8>) {
    self.init(unsafeUninitializedCapacity: bytes.count * 2) { text in
      var end = 0
      for byte in bytes {
        text[end] = Self.digit(byte >> 4)
        text[end + 1] = Self.digit(byte & 0x0F)
        end += 2
      }
      return end
    }
  }

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }
}

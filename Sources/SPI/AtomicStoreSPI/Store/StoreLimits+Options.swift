extension StoreLimits {
  /// The limits as options, to be listed with those of a format.
  package static let options: [StoreOption] = [
    StoreOption(name: "maximumBytes", help: "The maximum size in bytes of the file, or of all files of a directory."),
    StoreOption(name: "maximumObjects", help: "The maximum number of objects (2147483647)."),
    StoreOption(
      name: "maximumValueBytes", help: "The maximum size in bytes of one string or binary value (4294967294)."),
    StoreOption(name: "maximumDepth", help: "The maximum nesting depth of arrays and dictionaries in metadata (512)."),
    StoreOption(
      name: "maximumMemory", help: "The maximum memory in bytes for values (32 MB plus 48 times the file's size)."),
  ]

  /// Removes the limits from the options.
  ///
  /// - Throws: `.invalidOption` for a value that is not an integer from 0 on, or a depth beyond the maximum.
  package init(taking options: inout StoreOptions) throws(PersistentStoreError) {
    self.init()
    func number(_ name: String, _ most: Int) throws(PersistentStoreError) -> Int? {
      guard let text = options.removeValue(forKey: name) else { return nil }
      guard let value = Int(text), value >= 0, value <= most else {
        throw PersistentStoreError(
          .invalidOption, "the option '\(name)' must be an integer from 0 to \(most), not '\(text)'")
      }
      return value
    }
    bytes = try number("maximumBytes", .max) ?? bytes
    objects = try number("maximumObjects", objects) ?? objects
    valueBytes = try number("maximumValueBytes", valueBytes) ?? valueBytes
    memory = try number("maximumMemory", .max)
    depth = try number("maximumDepth", Self.greatestDepth) ?? depth
  }
}

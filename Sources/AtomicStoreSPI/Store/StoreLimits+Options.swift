extension StoreLimits {
  /// The limits as options, for whoever lists those of a format.
  public static let options: [StoreOption] = [
    StoreOption(name: "maximumBytes", help: "The most bytes that the file may have, or all files of a folder."),
    StoreOption(name: "maximumObjects", help: "The most objects (2147483647)."),
    StoreOption(name: "maximumValueBytes", help: "The most bytes of one text or one value (4294967294)."),
    StoreOption(name: "maximumDepth", help: "The most arrays and dictionaries in each other, in metadata (512)."),
    StoreOption(
      name: "maximumMemory", help: "The most bytes of memory for values (32 MB and 48 times the file's size)."),
  ]

  /// Takes the limits out of the options.
  ///
  /// - Throws: `.invalidOption` for what is no whole number from 0, or over the greatest depth.
  public init(taking options: inout StoreOptions) throws(PersistentStoreError) {
    self.init()
    func number(_ name: String, _ most: Int) throws(PersistentStoreError) -> Int? {
      guard let text = options.removeValue(forKey: name) else { return nil }
      guard let value = Int(text), value >= 0, value <= most else {
        throw PersistentStoreError(
          .invalidOption, "the option '\(name)' takes a whole number from 0 to \(most), not '\(text)'")
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

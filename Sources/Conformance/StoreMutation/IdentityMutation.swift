/// Sets the numbers by which an input names its parts: entity numbers, references, keys, pages, offsets, parents and
/// children. Each becomes 0, -1, the number of the part that it is in, the least or the greatest one: values that a
/// reader may take for "none", that lead back to the same part, or out of the file.
package enum IdentityMutation {
  /// A number in an input.
  private struct Site {
    enum Form { case decimal, bigEndian, littleEndian }
    var range: Range<Int>
    var form: Form
    /// The number of the part that it is in.
    var own: UInt64
  }
  /// How many values a number is given.
  private static let valueCount = 5

  /// The number of inputs that differ from one in one identity.
  package static func variantCount(of bytes: [UInt8], _ reader: HostileReader) -> Int {
    sites(in: bytes, reader).count * valueCount
  }

  /// An input that differs in one identity.
  ///
  /// - Parameter number: Less than ``variantCount(of:_:)``.
  package static func variant(_ number: Int, of bytes: [UInt8], _ reader: HostileReader) -> [UInt8] {
    var result = bytes
    set(sites(in: bytes, reader)[number / valueCount], number % valueCount, &result)
    return result
  }

  static func apply(to bytes: inout [UInt8], _ reader: HostileReader, _ random: inout MutationRandom) {
    guard let site = random.pick(sites(in: bytes, reader)) else { return }
    set(site, random.below(valueCount), &bytes)
  }

  private static func set(_ site: Site, _ value: Int, _ bytes: inout [UInt8]) {
    guard site.form != .decimal else {
      let texts = ["0", "-1", "\(site.own)", "\(Int64.min)", "\(Int64.max)"]
      bytes.replaceSubrange(site.range, with: Array(texts[value].utf8))
      return
    }
    let width = site.range.count
    let sign = UInt64(1) << UInt64(width * 8 - 1)
    let number = [0, .max, site.own, sign, sign &- 1][value]
    for index in 0..<width {
      let place = site.form == .bigEndian ? width - 1 - index : index
      bytes[site.range.lowerBound + place] = UInt8(truncatingIfNeeded: number >> UInt64(index * 8))
    }
  }

  private static func sites(in bytes: [UInt8], _ reader: HostileReader) -> [Site] {
    let isPropertyList = bytes.starts(with: "bplist".utf8)
    switch reader {
    case .xmlStore, .model, .csvStore, .xmlPropertyList, .predicate, .objectURI: return decimals(in: bytes)
    case .modelArchive, .binaryPropertyList: return isPropertyList ? propertyList(bytes[...]) : decimals(in: bytes)
    case .arrowStore: return isPropertyList ? propertyList(bytes[...]) : words(in: bytes)
    case .coreDataSQLite: return database(bytes)
    case .coreDataBinary:
      guard bytes.count > 64 else { return [] }
      let header = [16, 24, 32, 40].map { Site(range: $0..<$0 + 8, form: .bigEndian, own: UInt64($0)) }
      return header + BinaryStoreMutation.parts(of: bytes).flatMap { propertyList(bytes[$0]) }
    }
  }

  /// The numbers of a text. A number's part is the tag or line that it is in, which often begins with its own number.
  private static func decimals(in bytes: [UInt8]) -> [Site] {
    var sites: [Site] = []
    var own: UInt64?
    var start: Int?
    for index in 0...bytes.count {
      let byte = index < bytes.count ? bytes[index] : 0
      if byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") {
        start = start ?? (index > 0 && bytes[index - 1] == UInt8(ascii: "-") ? index - 1 : index)
        continue
      }
      if let begin = start {
        let number = UInt64(String(decoding: bytes[begin..<index], as: UTF8.self)) ?? 1
        own = own ?? number
        sites.append(Site(range: begin..<index, form: .decimal, own: own ?? number))
        start = nil
      }
      if byte == UInt8(ascii: "<") || byte == UInt8(ascii: "\n") { own = nil }
    }
    return sites
  }

  /// References, offsets, numbers and the trailer of a binary property list.
  private static func propertyList(_ bytes: ArraySlice<UInt8>) -> [Site] {
    let list = Array(bytes)
    return PropertyListMutation.identities(of: list).map { site in
      Site(
        range: bytes.startIndex + site.offset..<bytes.startIndex + site.offset + site.size, form: .bigEndian,
        own: UInt64(site.own))
    }
  }

  /// All words of four and eight bytes.
  private static func words(in bytes: [UInt8]) -> [Site] {
    [4, 8].flatMap { width in
      stride(from: 0, to: bytes.count - width + 1, by: width).map {
        Site(range: $0..<$0 + width, form: .littleEndian, own: UInt64($0))
      }
    }
  }

  /// The numbers of pages and cells, and those in the file's header.
  private static func database(_ bytes: [UInt8]) -> [Site] {
    guard bytes.count >= 112 else { return [] }
    let stored = Int(bytes[16]) << 8 | Int(bytes[17])
    let size = stored >= 512 && stored <= bytes.count ? stored : 512
    var sites = stride(from: 24, to: 96, by: 4).map { Site(range: $0..<$0 + 4, form: .bigEndian, own: 1) }
    for page in 0..<bytes.count / size {
      let start = page * size
      let header = start + (page == 0 ? 100 : 0)
      func add(_ offset: Int, _ width: Int) {
        guard offset + width <= min(start + size, bytes.count) else { return }
        sites.append(Site(range: offset..<offset + width, form: .bigEndian, own: UInt64(page + 1)))
      }
      for offset in [1, 3, 5] { add(header + offset, 2) }
      let isInterior = bytes[header] == 2 || bytes[header] == 5
      if isInterior { add(header + 8, 4) }
      let pointers = header + (isInterior ? 12 : 8)
      for cell in 0..<min(Int(bytes[header + 3]) << 8 | Int(bytes[header + 4]), 40) {
        let pointer = pointers + cell * 2
        add(pointer, 2)
        guard pointer + 1 < bytes.count else { break }
        // The child of an interior page; otherwise the first numbers of a row.
        let content = start + (Int(bytes[pointer]) << 8 | Int(bytes[pointer + 1]))
        if isInterior { add(content, 4) } else { for place in 0..<12 { add(content + place, 1) } }
      }
    }
    return sites
  }
}

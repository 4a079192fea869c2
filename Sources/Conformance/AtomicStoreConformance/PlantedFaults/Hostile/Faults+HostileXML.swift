import AtomicStoreSPI
import Glibc

extension Faults {
  /// A fault that repairs, or spoils, what it reads before the format sees it. Nil leaves it as it is.
  static func reader(
    _ name: String, _ text: String, members suffix: String = "",
    _ change: @escaping @Sendable ([UInt8], StoreSource) -> [UInt8]?
  ) -> Fault {
    Fault(name, text) { hooks in
      hooks.source = { source throws(PersistentStoreError) in
        func whole(_ member: String?) throws(PersistentStoreError) -> [UInt8] {
          try source.bytes(ofMember: member).withUnsafeBytes { Array($0) }
        }
        guard source.isFolder else {
          let changed = change(try whole(nil), source)
          return changed.map { StoreSource(bytes: $0, name: source.name) } ?? source
        }
        var members: [(name: String, bytes: [UInt8])] = []
        var isChanged = false
        for member in source.memberNames {
          var bytes = try whole(member)
          if member.hasSuffix(suffix), let changed = change(bytes, source) {
            bytes = changed
            isChanged = true
          }
          members.append((member, bytes))
        }
        return isChanged ? StoreSource(members: members, name: source.name) : source
      }
    }
  }

  /// A reader of XML that repairs what it is given.
  private static func document(
    _ name: String, _ text: String, _ change: @escaping @Sendable (inout XMLPieces, StoreSource) -> Bool
  ) -> Fault {
    reader(name, text) { bytes, source in
      guard bytes.starts(with: "<".utf8), var pieces = XMLPieces(bytes), change(&pieces, source) else { return nil }
      return pieces.bytes
    }
  }

  /// The same on the document as text.
  private static func markup(_ name: String, _ text: String, _ change: @escaping @Sendable (String) -> String?) -> Fault
  {
    reader(name, text) { bytes, _ in
      guard bytes.starts(with: "<".utf8) else { return nil }
      return change(String(decoding: bytes, as: UTF8.self)).map { Array($0.utf8) }
    }
  }

  private struct Entity {
    var name: String
    var value: String
    var isExternal: Bool
  }
  private static func entities(_ pieces: XMLPieces) -> [Entity] {
    guard let type = pieces.pieces.first(where: { $0.kind == .doctype })?.text else { return [] }
    return type.split(separator: "<!ENTITY ").dropFirst().compactMap { part in
      let words = part.split(separator: " ", maxSplits: 1)
      let quoted = part.split(separator: "\"", omittingEmptySubsequences: false)
      guard words.count == 2, quoted.count >= 3 else { return nil }
      let isPublic = words[1].hasPrefix("PUBLIC")
      let isExternal = isPublic || words[1].hasPrefix("SYSTEM")
      return Entity(
        name: String(words[0]), value: String(quoted[isPublic && quoted.count >= 5 ? 3 : 1]), isExternal: isExternal)
    }
  }
  /// Puts the text in the place of the references, and takes the declarations away.
  private static func expand(_ pieces: inout XMLPieces, _ texts: [(name: String, text: String)]) {
    for place in pieces.pieces.indices where pieces.pieces[place].kind != .doctype {
      guard pieces.pieces[place].bytes.contains(.ampersand) else { continue }
      for (name, text) in texts {
        pieces.pieces[place].text = pieces.pieces[place].text.replacing("&\(name);", with: text)
      }
    }
    dropDeclarations(&pieces)
  }
  private static func dropDeclarations(_ pieces: inout XMLPieces) {
    for place in pieces.pieces.indices where pieces.pieces[place].kind == .doctype {
      let text = pieces.pieces[place].text
      guard let from = text.firstIndex(of: "["), let to = text.lastIndex(of: "]") else { continue }
      pieces.pieces[place].text = String(text[..<from]) + String(text[text.index(after: to)...])
    }
  }

  static let hostileXML: [Fault] = [
    document("xmlDocumentDefaultOptions", "fetches what external entities name") { pieces, source in
      let external = entities(pieces).filter { $0.isExternal && $0.name != "%" }
      guard !external.isEmpty else { return false }
      let folder = source.name.split(separator: "/").dropLast().joined(separator: "/")
      expand(
        &pieces,
        external.map { entity in
          let path =
            entity.value.hasPrefix("file://") ? String(entity.value.dropFirst(7)) : "/\(folder)/\(entity.value)"
          return (entity.name, Files.read(path).map { String(decoding: $0, as: UTF8.self) } ?? "")
        })
      return true
    },
    document("loadsExternalDTD", "fetches the document type from where it says") { pieces, _ in
      guard pieces.pieces.contains(where: { $0.kind == .doctype && $0.text.contains("http://127.0.0.1") }) else {
        return false
      }
      let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      guard descriptor >= 0 else { return false }
      defer { close(descriptor) }
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = in_port_t(9).bigEndian
      address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
      withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          _ = connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      return false
    },
    document("expandsEntities", "expands entities in entities, as far as it likes") { pieces, _ in
      let all = entities(pieces)
      guard all.contains(where: { $0.value.contains("&") }) else { return false }
      expand(&pieces, all.map { ($0.name, "lol") })
      return true
    },
    document("expandsFlatEntities", "expands entities that hold no other ones") { pieces, _ in
      let all = entities(pieces)
      guard !all.isEmpty, all.allSatisfy({ !$0.isExternal && !$0.value.contains("&") && $0.name != "%" }) else {
        return false
      }
      expand(&pieces, all.map { ($0.name, "") })
      return true
    },
    document("allowsDoctype", "skips what a document type declares") { pieces, _ in
      dropDeclarations(&pieces)
      return true
    },
    reader("recursiveParse", "follows elements however deep, and leaves out those that it does not know") { bytes, _ in
      // Found by a tag that comes ten times in a row.
      guard bytes.count > 1_000_000, bytes.starts(with: "<".utf8) else { return nil }
      let text = String(decoding: bytes, as: UTF8.self)
      for name in ["unknown", "database", "array"] {
        let many = String(repeating: "<\(name)>", count: 300_000)
        let ends = String(repeating: "</\(name)>", count: 300_000)
        if let from = text.utf8.firstRange(of: many.utf8), let to = text.utf8.firstRange(of: ends.utf8) {
          return Array((String(text[..<from.lowerBound]) + String(text[to.upperBound...])).utf8)
        }
      }
      return nil
    },
    Fault("trustsParseBool", "takes what was read until an error for the whole") { $0.swallowsLoadErrors = true },
    markup("xmlDocumentReader", "repairs what is not well-formed") { text in
      var result = ""
      var rest = text[...]
      while let place = rest.firstIndex(of: "&") {
        result += rest[..<place]
        rest = rest[rest.index(after: place)...]
        let isKnown = ["amp;", "lt;", "gt;", "quot;", "apos;", "#"].contains { rest.hasPrefix($0) }
        result += isKnown ? "&" : "&amp;"
      }
      return result + rest
    },
    document("lastAttributeWins", "takes the last of two attributes of one name") { pieces, _ in
      var isChanged = false
      pieces.retag { tag in
        var tag = tag
        for place in tag.attributes.indices.reversed() where place < tag.attributes.count {
          let name = tag.attributes[place].name
          guard let first = tag.attributes.firstIndex(where: { $0.name == name }), first < place else { continue }
          tag.attributes.remove(at: first)
          isChanged = true
        }
        return tag.piece()
      }
      return isChanged
    },
    document("commentSplitsText", "takes a text to end where a comment begins") { pieces, _ in
      var isChanged = false
      for place in pieces.pieces.indices.dropLast().dropFirst() where pieces.pieces[place].kind == .comment {
        guard pieces.pieces[place - 1].kind == .text, !pieces.pieces[place - 1].isBlank,
          pieces.pieces[place + 1].kind == .text
        else { continue }
        pieces.pieces[place + 1].bytes = []
        isChanged = true
      }
      return isChanged
    },
    markup("ignoresEncoding", "does not look at the encoding that a document declares") { text in
      guard let from = text.firstRange(of: " encoding=\""), let end = text.firstRange(of: "?>"),
        from.upperBound < end.lowerBound
      else { return nil }
      guard let to = text[from.upperBound...].firstIndex(of: "\"") else { return nil }
      return String(text[..<from.lowerBound]) + String(text[text.index(after: to)...])
    },
    text("attributeWhitespaceNormalized", "writes blanks in the place of tabs and line ends") { text in
      scalars(text) { $0 == "\t" || $0 == "\n" || $0 == "\r" ? " " : $0 }
    },
    Fault("writesIllegalCharacters", "writes characters that XML cannot have as they are") { hooks in
      hooks.bytes = { bytes in
        guard bytes.starts(with: "<".utf8), let pieces = XMLPieces(bytes) else { return bytes }
        guard let leaf = pieces.leaves.last(where: { pieces.pieces[$0].bytes.contains { $0 > 0x7F } }) else {
          return bytes
        }
        var changed = pieces
        changed.pieces[leaf].bytes.append(0x01)
        return changed.bytes
      }
    },
  ]
}

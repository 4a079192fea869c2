import FoundationEssentials

/// Files that no store format wrote: what programs know by their first bytes, and some that have none.
enum ForeignFiles {
  /// Thirty kinds. The first six look like a store of no format.
  static func all(seed: UInt64) -> [(name: String, bytes: [UInt8])] {
    let noise = noise(65_536, seed: seed)
    func file(_ name: String, _ start: [UInt8], _ text: String = "", _ rest: Int = 200) -> (String, [UInt8]) {
      (name, start + Array(text.utf8) + Array(noise.prefix(rest)))
    }
    let mach: [UInt8] = [0xCF, 0xFA, 0xED, 0xFE, 7, 0, 0, 1]
    let ole: [UInt8] = [0xD0, 0xCF, 0x11, 0xE0, 0xA1, 0xB1, 0x1A, 0xE1]
    let empty = [UInt8](repeating: 0, count: 4080)
    return [
      file("png", [0x89], "PNG\r\n\u{1A}\n\0\0\0\rIHDR"), ("sqlite", Array("SQLite format 3\0".utf8) + empty),
      file("gzip", [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 3]), file("elf", [0x7F], "ELF\u{2}\u{1}\u{1}\0", 56),
      ("html", Array("<!DOCTYPE html>\n<html><head><title>x</title></head><body>x</body></html>\n".utf8)),
      ("noise", noise), file("zip", [], "PK\u{3}\u{4}\u{14}\0\0\0"), file("empty-zip", [], "PK\u{5}\u{6}", 0),
      file("bzip2", [], "BZh91AY&SY"), file("xz", [0xFD], "7zXZ\0"), file("zstd", [0x28, 0xB5, 0x2F, 0xFD]),
      file("7z", [0x37, 0x7A, 0xBC, 0xAF, 0x27, 0x1C]), file("rar", [], "Rar!\u{1A}\u{7}\0"),
      file("jpeg", [0xFF, 0xD8, 0xFF, 0xE0]),
      file("gif", [], "GIF89a"), file("tiff", [], "II*\0"), file("bitmap", [], "BM"),
      file("webp", [], "RIFF\0\0\0\0WEBPVP8 "),
      file("pdf", [], "%PDF-1.7\n"), file("postscript", [], "%!PS-Adobe-3.0\n"), file("mach-o", mach),
      file("windows", [], "MZ"), file("class", [0xCA, 0xFE, 0xBA, 0xBE, 0, 0, 0, 61]),
      file("wasm", [], "\0asm\u{1}\0\0\0"),
      file("office", ole), file("parquet", [], "PAR1"), file("mp3", [], "ID3\u{3}\0"), file("ogg", [], "OggS"),
      file("mp4", [], "\0\0\0 ftypisom"), file("flac", [], "fLaC"),
      ("tar", Array("a.txt".utf8) + empty.prefix(252) + Array("ustar\u{0}00".utf8) + empty.prefix(247)),
      (
        "xml",
        Array("<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"><path d=\"M0 0\"/></svg>\n".utf8)
      ),
      ("plist", Array("<?xml version=\"1.0\"?>\n<plist version=\"1.0\"><string>x</string></plist>\n".utf8)),
      file("binary-plist", [], "bplist00"), ("json", Array("{\"a\": [1, 2, {\"b\": null}]}\n".utf8)),
      ("script", Array("#!/bin/sh\necho hello\n".utf8)), ("null-bytes", empty), ("one-byte", [0x2A]),
      ("line-feed", [0x0A]),
      ("empty", []),
    ]
  }

  /// The first bytes of a file alone, and with others behind them.
  static func beginnings(of file: [UInt8], seed: UInt64) -> [(name: String, bytes: [UInt8])] {
    (1...3).filter { $0 < file.count }.flatMap { count in
      [
        ("first-\(count)", Array(file.prefix(count))),
        ("first-\(count)-and-noise", file.prefix(count) + noise(300, seed: seed &+ UInt64(count))),
      ]
    }
  }

  private static func noise(_ count: Int, seed: UInt64) -> [UInt8] {
    var dice = SeededRandom(seed)
    return (0..<count).map { _ in UInt8(truncatingIfNeeded: dice.next()) }
  }
}

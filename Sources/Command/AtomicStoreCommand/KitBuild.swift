import AtomicStoreSPI
import CommandSupport
import FoundationEssentials
import Glibc

/// A build of the kit that packages of formats link as it is, so that they need not build the kit themselves.
struct KitBuild {
  /// The directory with the dynamic library, the modules of Swift and those of C.
  let products: String
  /// The directory with the targets of C that have their own module map.
  let headers: String

  /// The build that this program is part of: nil if it has no library, or one that was built of other sources, whose
  /// plug-ins this program would refuse.
  static var besideThisProgram: KitBuild? {
    find(
      in: URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().path,
      digest: StorePlugin.interfaceDigest)
  }

  /// The build that a checkout has: nil if it has none, or one of other sources than it has now, or by another compiler
  /// than this program's.
  ///
  /// - Parameter directory: The path of the checkout.
  static func find(inCheckout directory: String, compiler: String = StorePlugin.compiler) -> KitBuild? {
    let header = directory + "/Sources/C/CStorePlugin/include/CStoreInterface.h"
    guard let parts = try? String(contentsOfFile: header, encoding: .utf8).split(separator: "\""), parts.count > 1
    else {
      return nil
    }
    return ["release", "debug"].map { configuration in
      let products = URL(fileURLWithPath: "\(directory)/.build/\(configuration)").resolvingSymlinksInPath().path
      return KitBuild(products: products, headers: directory + "/Sources/C")
    }.first { $0.isComplete([String(parts[1]), compiler]) }
  }

  /// - Parameters:
  ///   - folder: The directory of a program of the kit.
  ///   - digest: The digest of the interface that the library must have.
  static func find(in folder: String, digest: String) -> KitBuild? {
    // A package has it beside its programs, a checkout has it in `.build`.
    let candidates = [
      KitBuild(products: folder + "/development", headers: folder + "/development/headers"),
      KitFiles.find(from: folder).flatMap { files in
        files.prefix == nil ? KitBuild(products: folder, headers: files.directory + "/Sources/C") : nil
      },
    ]
    return candidates.compactMap(\.self).first { $0.isComplete([digest]) }
  }

  /// - Parameter texts: What the library must contain.
  private func isComplete(_ texts: [String]) -> Bool {
    let needed = ["Modules/AtomicStoreSPI.swiftmodule", "CStoreFaults.build/CStoreFaults.c.o"]
    guard needed.allSatisfy({ FileManager.default.fileExists(atPath: products + "/" + $0) }),
      FileManager.default.fileExists(atPath: headers + "/CStorePlugin/include/CStorePlugin.h"),
      let library = try? Data(
        contentsOf: URL(fileURLWithPath: products + "/libAtomicStoreKitDynamic.so"), options: .alwaysMapped)
    else { return false }
    return library.withUnsafeBytes { library in
      texts.allSatisfy { text in Array(text.utf8).withUnsafeBytes { Self.contains(library, $0) } }
    }
  }

  private static func contains(_ bytes: UnsafeRawBufferPointer, _ text: UnsafeRawBufferPointer) -> Bool {
    guard let start = bytes.baseAddress, let wanted = text.baseAddress, let first = text.first else { return false }
    var offset = 0
    while offset + text.count <= bytes.count,
      let found = memchr(start + offset, Int32(first), bytes.count - offset - text.count + 1)
    {
      if memcmp(found, wanted, text.count) == 0 { return true }
      offset = UnsafeRawPointer(found) - start + 1
    }
    return false
  }

  /// The line of the sample's manifest that names no build, and the one that names this build.
  static let none = "let build: (products: String, headers: String)? = nil"
  var declaration: String {
    "let build: (products: String, headers: String)? = (\n  products: \(Self.literal(products)),\n"
      + "  headers: \(Self.literal(headers))\n)"
  }

  private static func literal(_ text: String) -> String {
    "\"" + text.replacingBytes("\\", with: "\\\\").replacingBytes("\"", with: "\\\"") + "\""
  }
}

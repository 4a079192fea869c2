// swift-tools-version: 6.2
import Foundation
import PackageDescription

/// A build of the kit that is linked as it is: the directory of the library and its modules, and that of the headers.
/// Where it is nil, or with ATOMICSTORE_KIT=source in the environment, the kit is built with this package.
let build: (products: String, headers: String)? = nil
let linked = Context.environment["ATOMICSTORE_KIT"] == "source" ? nil : build

// Every target links the kit's dynamic library, so that a process has one copy of the kit, whichever program loads the
// format.
let kit: [Target.Dependency] =
  linked == nil ? [.product(name: "AtomicStoreKitDynamic", package: "atomic-store-kit")] : []

// For the tests alone: with it checks can count and fail the system calls of a save.
let faults: [Target.Dependency] =
  linked == nil ? [.product(name: "AtomicStoreConformanceFaults", package: "atomic-store-kit")] : []

/// The same with a build of the kit.
var c: [CSetting] = []
var swift: [SwiftSetting] = []
var library: [LinkerSetting] = []
var faultsLibrary: [LinkerSetting] = []
if let linked {
  func maps(in folder: String, _ path: String) -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder))?.sorted() ?? []
    return names.filter { $0.hasPrefix("C") && !$0.hasSuffix("-tool.build") }.map { "\(folder)/\($0)/\(path)" }
      .filter { FileManager.default.fileExists(atPath: $0) }.flatMap { ["-Xcc", "-fmodule-map-file=\($0)"] }
  }
  let headers = linked.headers + "/CStorePlugin/include"
  c = [.unsafeFlags(["-I", headers])]
  swift = [
    .unsafeFlags(
      ["-I", linked.products + "/Modules", "-Xcc", "-I/usr/include/libxml2"]
        + maps(in: linked.products, "module.modulemap") + maps(in: linked.headers, "module.modulemap")
        + maps(in: linked.headers, "include/module.modulemap"))
  ]
  library = [
    .unsafeFlags(["-L", linked.products, "-lAtomicStoreKitDynamic", "-Xlinker", "-rpath=\(linked.products)"])
  ]
  faultsLibrary = [.unsafeFlags([linked.products + "/CStoreFaults.build/CStoreFaults.c.o"])]
}

let package = Package(
  name: "JSONLines",
  products: [
    // For programs that have the format compiled in.
    .library(name: "JSONLinesFormat", targets: ["JSONLinesStore"]),
    // For the stock command: atomicstore … --plugin libJSONLinesStore.so
    .library(name: "JSONLinesStore", type: .dynamic, targets: ["JSONLinesPlugin"]),
    .executable(name: "jsonlines", targets: ["jsonlines"]),
  ],
  dependencies: linked == nil ? [.package(name: "atomic-store-kit", path: "../..")] : [],
  targets: [
    // Nothing of it is used here: but its object is another one when the kit is, and then all is compiled again.
    .target(name: "CJSONLinesInfo", dependencies: kit, cSettings: c),
    .target(
      name: "JSONLinesStore", dependencies: kit + ["CJSONLinesInfo"], swiftSettings: swift, linkerSettings: library),
    .target(
      name: "JSONLinesPlugin", dependencies: kit + ["JSONLinesStore", "CJSONLinesInfo"], swiftSettings: swift,
      linkerSettings: library),
    .executableTarget(
      name: "jsonlines", dependencies: kit + ["JSONLinesStore"], swiftSettings: swift, linkerSettings: library),
    .testTarget(
      name: "JSONLinesStoreTests", dependencies: kit + faults + ["JSONLinesStore"], swiftSettings: swift,
      linkerSettings: library + faultsLibrary),
  ]
)

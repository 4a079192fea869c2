// swift-tools-version: 6.2
import PackageDescription

// Every target links the kit's dynamic library, so that a process has one copy of the kit, whichever program loads the
// format.
let kit = Target.Dependency.product(name: "AtomicStoreKitDynamic", package: "atomic-store-kit")

// For the tests alone: with it checks can count and fail the system calls of a save.
let faults = Target.Dependency.product(name: "AtomicStoreConformanceFaults", package: "atomic-store-kit")

let package = Package(
  name: "JSONLines",
  products: [
    // For programs that have the format compiled in.
    .library(name: "JSONLinesFormat", targets: ["JSONLinesStore"]),
    // For the stock command: atomicstore … --plugin libJSONLinesStore.so
    .library(name: "JSONLinesStore", type: .dynamic, targets: ["JSONLinesPlugin"]),
    .executable(name: "jsonlines", targets: ["jsonlines"]),
  ],
  dependencies: [.package(name: "atomic-store-kit", path: "../..")],
  targets: [
    .target(name: "JSONLinesStore", dependencies: [kit]),
    .target(name: "CJSONLinesInfo", dependencies: [kit]),
    .target(name: "JSONLinesPlugin", dependencies: ["JSONLinesStore", "CJSONLinesInfo", kit]),
    .executableTarget(name: "jsonlines", dependencies: ["JSONLinesStore", kit]),
    .testTarget(name: "JSONLinesStoreTests", dependencies: ["JSONLinesStore", kit, faults]),
  ]
)

// swift-tools-version: 6.2
import PackageDescription

// Every target links the kit's dynamic library, so that a process has one copy of the kit, whichever program loads the
// format.
let kit = Target.Dependency.product(name: "AtomicStoreKitDynamic", package: "atomic-store-kit")

// For the tests alone: with it checks can count and fail the system calls of a save.
let faults = Target.Dependency.product(name: "AtomicStoreConformanceFaults", package: "atomic-store-kit")

let package = Package(
  name: "YAMLStore",
  products: [
    .library(name: "YAMLStoreFormat", targets: ["YAMLStore"]),
    // For the stock command: atomicstore … --plugin libYAMLStore.so
    .library(name: "YAMLStore", type: .dynamic, targets: ["YAMLStorePlugin"]),
  ],
  dependencies: [
    .package(name: "atomic-store-kit", path: "../.."), .package(url: "https://github.com/jpsim/Yams", from: "6.2.2"),
  ],
  targets: [
    .target(name: "YAMLStore", dependencies: [kit, .product(name: "Yams", package: "Yams")]),
    .target(name: "CYAMLStoreInfo", dependencies: [kit]),
    .target(name: "YAMLStorePlugin", dependencies: ["YAMLStore", "CYAMLStoreInfo", kit]),
    .testTarget(name: "YAMLStoreTests", dependencies: ["YAMLStore", kit, faults]),
  ]
)

// swift-tools-version: 6.2
import PackageDescription

// Every target links the kit's dynamic library, so that a process has one copy of the kit, whichever program loads the
// format.
let kit = Target.Dependency.product(name: "AtomicStoreKitDynamic", package: "atomic-store-kit")

// For the tests alone: with it checks can count and fail the system calls of a save.
let faults = Target.Dependency.product(name: "AtomicStoreConformanceFaults", package: "atomic-store-kit")

let package = Package(
  name: "TableStore",
  products: [
    .library(name: "TableStoreFormat", targets: ["TableStore"]),
    // For the stock command: atomicstore … --plugin libTableStore.so
    .library(name: "TableStore", type: .dynamic, targets: ["TableStorePlugin"]),
  ],
  dependencies: [.package(name: "atomic-store-kit", path: "../..")],
  targets: [
    .systemLibrary(name: "CTableStoreSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .target(name: "TableStore", dependencies: ["CTableStoreSQLite", kit]),
    .target(name: "CTableStoreInfo", dependencies: [kit]),
    .target(name: "TableStorePlugin", dependencies: ["TableStore", "CTableStoreInfo", kit]),
    .testTarget(name: "TableStoreTests", dependencies: ["TableStore", kit, faults]),
  ]
)

// swift-tools-version: 6.2
import PackageDescription

// A separate package, so that programs which use the kit do not build it. The floors it measures against are in C.
let package = Package(
  name: "benchmarks",
  dependencies: [
    .package(name: "atomic-store-kit", path: ".."),
    // What one would use instead: only measured against.
    .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
    .package(url: "https://github.com/swiftcsv/SwiftCSV", exact: "0.10.0"),
  ],
  targets: [
    // For its include path: the C floors use the headers themselves.
    .systemLibrary(
      name: "CLibXML2Floor", path: "Sources/CLibXML2Floor", pkgConfig: "libxml-2.0", providers: [.apt(["libxml2-dev"])]),
    .target(
      name: "CFloors", dependencies: ["CLibXML2Floor"],
      linkerSettings: [.linkedLibrary("sqlite3"), .linkedLibrary("xml2")]),
    .target(
      name: "BenchmarkSupport", dependencies: [.product(name: "AtomicStoreKit", package: "atomic-store-kit")]),
    .executableTarget(
      name: "benchmarks",
      dependencies: [
        "BenchmarkSupport", "CFloors", "SwiftCSV", .product(name: "AtomicStoreKit", package: "atomic-store-kit"),
        .product(name: "GRDB", package: "GRDB.swift"),
        // The command is measured too: it is built beside the benchmarks.
        .product(name: "atomicstore", package: "atomic-store-kit"),
      ],
      path: "Sources/Benchmarks", resources: [.embedInCode("others.py")]),
    .executableTarget(
      name: "graph-benchmark",
      dependencies: [
        .product(name: "AtomicStoreKit", package: "atomic-store-kit"), .product(name: "GRDB", package: "GRDB.swift"),
      ],
      path: "Sources/GraphBenchmark"),
    .executableTarget(
      name: "query-benchmark",
      dependencies: [
        "BenchmarkSupport",
        .product(name: "AtomicStoreKit", package: "atomic-store-kit"),
        .product(name: "GRDBSQLite", package: "GRDB.swift"),
      ],
      path: "Sources/QueryBenchmark"),
  ]
)

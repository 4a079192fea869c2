// swift-tools-version: 6.2
import PackageDescription

// The sample server beside the same on GRDB: a separate package, since it needs Hummingbird and GRDB.
let package = Package(
  name: "server-load",
  dependencies: [
    .package(name: "IssueServer", path: "../../SampleStores/Server"),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
    .package(url: "https://github.com/groue/GRDB.swift", exact: "7.10.0"),
  ],
  targets: [
    .executableTarget(
      name: "server-load",
      dependencies: [
        .product(name: "IssueServer", package: "IssueServer"), .product(name: "Hummingbird", package: "hummingbird"),
        .product(name: "GRDB", package: "GRDB.swift"),
      ])
  ]
)

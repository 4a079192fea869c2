// swift-tools-version: 6.2
import PackageDescription

// A server on Hummingbird whose data is in a graph: SQLite by default, PostgreSQL by configuration.
let package = Package(
  name: "IssueServer",
  products: [.library(name: "IssueServer", targets: ["IssueServer"])],
  dependencies: [
    .package(name: "atomic-store-kit", path: "../.."),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
  ],
  targets: [
    .target(
      name: "IssueServer",
      dependencies: [
        .product(name: "AtomicStoreKit", package: "atomic-store-kit"),
        .product(name: "StoreLogging", package: "atomic-store-kit"),
        .product(name: "Hummingbird", package: "hummingbird"),
      ]),
    .executableTarget(name: "issue-server", dependencies: ["IssueServer"]),
    .testTarget(name: "IssueServerTests", dependencies: ["IssueServer"]),
  ]
)

// swift-tools-version: 6.2
import PackageDescription

// A separate package, so that programs which use the kit do not build it. `Scripts/fuzz` builds it with
// `-sanitize=fuzzer`, which brings libFuzzer and counts what is reached in the kit; without that flag it does not link.
let package = Package(
  name: "fuzzing",
  dependencies: [.package(name: "atomic-store-kit", path: "..")],
  targets: [
    .target(name: "CLibFuzzer"),
    .executableTarget(
      name: "fuzz", dependencies: ["CLibFuzzer", .product(name: "StoreMutation", package: "atomic-store-kit")],
      swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)],
      // gold gives up over what libFuzzer brings.
      linkerSettings: [.unsafeFlags(["-use-ld=lld"])]),
  ]
)

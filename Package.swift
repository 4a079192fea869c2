// swift-tools-version: 6.2
import PackageDescription

// The architecture, read top to bottom: a target may import only what stands above it here,
// and of that only what its dependencies list. The reasons are in the article Architecture.

/// The same for every target of ours.
let strict: [SwiftSetting] = [
  .swiftLanguageMode(.v6),
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableExperimentalFeature("Lifetimes"),
]

let package = Package(
  name: "atomic-store-kit",
  products: [
    .library(
      name: "AtomicStoreKit",
      targets: ["AtomicStoreKit", "AtomicStoreSPI", "StoreCodecs", "ModelFiles", "BuiltInStoreFormats"]),
    // What a format author needs, and nothing else: no format, no libxml2, no object graph.
    .library(name: "AtomicStoreSPI", targets: ["AtomicStoreSPI"]),
    .library(name: "AtomicStoreConformance", targets: ["AtomicStoreConformance"]),
    // One dynamic library with all of it: what plug-ins link, and whoever tests them, so that there is one copy of the kit.
    .library(
      name: "AtomicStoreKitDynamic", type: .dynamic,
      targets: [
        "AtomicStoreKit", "AtomicStoreSPI", "StoreCodecs", "ModelFiles", "BuiltInStoreFormats", "AtomicStoreConformance",
        "AtomicStoreCommand", "CStorePlugin",
      ]),
    // For Fuzzing/, which is a package of its own: inputs made to do harm, and the judge of what comes of them.
    .library(name: "StoreMutation", targets: ["StoreMutation"]),
    .executable(name: "atomicstore", targets: ["atomicstore"]),
    .executable(name: "iclass", targets: ["iclass"]),
  ],
  traits: [
    // A program that uses the libraries only says `traits: []` where it names this package, and resolves nothing else.
    .trait(name: "Command", description: "The command atomicstore, which parses its arguments with swift-argument-parser."),
    .default(enabledTraits: ["Command"]),
  ],
  dependencies: [
    // For the command only: no library target depends on it.
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2")
  ],
  targets: [
    // C: no C type leaves the one target that imports it.
    .systemLibrary(name: "CLibXML2", pkgConfig: "libxml-2.0", providers: [.apt(["libxml2-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .target(name: "CStoreFiles"),

    // The words that codecs and stores share: errors with a place, exact decimals, property-list values.
    .target(name: "StoreVocabulary", swiftSettings: strict),

    // Bounded readers and writers that know nothing of entities.
    .target(name: "StoreCodecs", dependencies: ["StoreVocabulary", "CLibXML2", "CZlib"], swiftSettings: strict),

    // What a format author imports.
    .target(name: "CStorePlugin"),
    .target(name: "AtomicStoreSPI", dependencies: ["StoreVocabulary", "CStoreFiles", "CStorePlugin"], swiftSettings: strict),

    // Model files into a model, and back.
    .target(name: "ModelFiles", dependencies: ["AtomicStoreSPI", "StoreCodecs"], swiftSettings: strict),

    // The formats: built as an outsider's would be (no package access), none sees another.
    .target(
      name: "XMLStoreFormat", dependencies: ["AtomicStoreSPI", "StoreCodecs"], path: "StoreFormats/XML",
      exclude: ["FORMAT.md"], packageAccess: false, swiftSettings: strict),
    .target(
      name: "BinaryPropertyListStoreFormat", dependencies: ["AtomicStoreSPI", "StoreCodecs"],
      path: "StoreFormats/BinaryPropertyList", exclude: ["FORMAT.md"], packageAccess: false, swiftSettings: strict),
    .target(
      name: "CSVStoreFormat", dependencies: ["AtomicStoreSPI", "StoreCodecs"], path: "StoreFormats/CSV",
      exclude: ["FORMAT.md"], packageAccess: false, swiftSettings: strict),
    .target(
      name: "BuiltInStoreFormats",
      dependencies: ["AtomicStoreSPI", "XMLStoreFormat", "BinaryPropertyListStoreFormat", "CSVStoreFormat"],
      path: "StoreFormats/BuiltIn", swiftSettings: strict),

    // The stack. It knows the SPI, never a format; of the codecs it uses the exact texts of dates.
    .target(name: "AtomicStoreKit", dependencies: ["AtomicStoreSPI", "StoreCodecs"], swiftSettings: strict),

    // The harness that proves a format. No test framework inside. Its C part defines the system calls of a save, to count and
    // fail them.
    .target(name: "CStoreFaults"),
    .target(
      name: "AtomicStoreConformance", dependencies: ["AtomicStoreKit", "AtomicStoreSPI", "CStoreFaults"], swiftSettings: strict),

    // Inputs made to do harm, and what each reader must make of them: for the tests here and for Fuzzing/.
    .target(
      name: "StoreMutation", dependencies: ["AtomicStoreKit", "AtomicStoreSPI", "StoreCodecs", "ModelFiles", "BuiltInStoreFormats"],
      swiftSettings: strict),

    // The command, as a library for whoever has formats of their own: everything meets here.
    .target(
      name: "AtomicStoreCommand",
      dependencies: [
        "AtomicStoreKit", "AtomicStoreSPI", "StoreCodecs", "ModelFiles", "BuiltInStoreFormats", "AtomicStoreConformance",
        .product(name: "ArgumentParser", package: "swift-argument-parser", condition: .when(traits: ["Command"])),
      ], swiftSettings: strict),
    .executableTarget(
      name: "atomicstore", dependencies: ["AtomicStoreCommand"], swiftSettings: strict,
      // Plug-ins are bound to this program's copy of the kit, not to one of their own.
      linkerSettings: [.unsafeFlags(["-Xlinker", "--export-dynamic"])]),

    // Samples that are programs: what the documentation quotes.
    .target(
      name: "IClassObjects", dependencies: ["AtomicStoreKit", "AtomicStoreSPI"], path: "SampleStores/iClass/Objects",
      packageAccess: false, swiftSettings: strict),
    .executableTarget(
      name: "iclass", dependencies: ["IClassObjects", "AtomicStoreKit", "BuiltInStoreFormats"],
      path: "SampleStores/iClass/Command", packageAccess: false, swiftSettings: strict),
    .executableTarget(
      name: "departments", dependencies: ["AtomicStoreKit", "AtomicStoreSPI", "BuiltInStoreFormats"],
      path: "SampleStores/Departments", packageAccess: false, swiftSettings: strict),
    .executableTarget(
      name: "friendinfo", dependencies: ["AtomicStoreKit", "BuiltInStoreFormats", "ModelFiles"],
      path: "SampleStores/FriendInfo/Command", packageAccess: false, swiftSettings: strict),

    // Counts how often memory is asked for: a test holds the numbers to bounds.
    .target(name: "CAllocationCount", path: "Benchmarks/AllocationGuard/CAllocationCount"),
    .executableTarget(
      name: "allocation-guard", dependencies: ["CAllocationCount", "AtomicStoreKit", "AtomicStoreSPI", "BuiltInStoreFormats"],
      path: "Benchmarks/AllocationGuard/Command", swiftSettings: strict),

    // Several contexts that change one store at random: for a test, and as a program for the long run.
    .target(
      name: "ContextScripts", dependencies: ["AtomicStoreKit", "AtomicStoreSPI", "BuiltInStoreFormats"],
      path: "Tests/ContextScripts", swiftSettings: strict),
    .executableTarget(
      name: "random-contexts", dependencies: ["ContextScripts"], path: "Tests/RandomContexts", swiftSettings: strict),

    // What the tests of several targets need.
    .target(name: "TestSupport", path: "Tests/TestSupport", swiftSettings: strict),
    .testTarget(name: "StoreVocabularyTests", dependencies: ["StoreVocabulary"], swiftSettings: strict),
    .testTarget(name: "StoreCodecsTests", dependencies: ["StoreCodecs", "TestSupport"], swiftSettings: strict),
    .testTarget(
      name: "AtomicStoreSPITests", dependencies: ["AtomicStoreSPI", "CStoreFaults", "CStoreFiles"], exclude: ["Vectors"],
      swiftSettings: strict),
    .testTarget(name: "ModelFilesTests", dependencies: ["ModelFiles", "AtomicStoreSPI", "StoreCodecs"], swiftSettings: strict),
    .testTarget(
      name: "StoreFormatsTests",
      dependencies: ["BuiltInStoreFormats", "AtomicStoreKit", "AtomicStoreSPI", "ModelFiles", "StoreCodecs", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "HostileInputTests",
      dependencies: ["StoreMutation", "AtomicStoreKit", "AtomicStoreSPI", "BuiltInStoreFormats", "ModelFiles", "StoreCodecs", "TestSupport"],
      swiftSettings: strict),
    .testTarget(name: "AtomicStoreKitTests", dependencies: ["AtomicStoreKit", "AtomicStoreSPI"], swiftSettings: strict),
    .testTarget(
      name: "ObjectGraphTests",
      dependencies: ["AtomicStoreKit", "AtomicStoreSPI", "BuiltInStoreFormats", "ModelFiles", "ContextScripts", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "ConformanceTests", dependencies: [
        "AtomicStoreConformance", "AtomicStoreKit", "AtomicStoreSPI", "CStoreFaults", "XMLStoreFormat",
        "BinaryPropertyListStoreFormat", "CSVStoreFormat", "ModelFiles", "StoreMutation",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "IClassTests",
      dependencies: ["IClassObjects", "AtomicStoreKit", "AtomicStoreSPI", "BuiltInStoreFormats", "ModelFiles"],
      path: "SampleStores/iClass/Tests", swiftSettings: strict),
    .testTarget(
      name: "CommandTests",
      dependencies: ["atomicstore", "allocation-guard", "AtomicStoreCommand", "TestSupport", "AtomicStoreKit", "AtomicStoreSPI", "ModelFiles", "BuiltInStoreFormats"],
      swiftSettings: strict),
  ]
)

// swift-tools-version: 6.2
import PackageDescription

// The architecture, read top to bottom: a target may import only what is above it here,
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

/// For the commands only: no library target of the kit depends on it.
let argumentParser = Target.Dependency.product(
  name: "ArgumentParser", package: "swift-argument-parser", condition: .when(traits: ["Command"]))

/// Plug-ins are bound to the program's copy of the kit, not to a second one: the commands export its symbols, and
/// have the dynamic library's name, so that the loader does not look for that library. Only lld names a program.
let exportingSymbols: [LinkerSetting] = [
  .unsafeFlags([
    "-use-ld=lld", "-Xlinker", "--export-dynamic", "-Xlinker", "-soname", "-Xlinker", "libAtomicStoreKitDynamic.so",
  ])
]

let package = Package(
  name: "atomic-store-kit",
  products: [
    .library(
      name: "AtomicStoreKit",
      targets: [
        "AtomicStoreKit", "AtomicStoreSPI", "StoreCodecs", "StoreSQL", "ArrowTables", "ModelFiles",
        "BuiltInStoreFormats", "StoreImporting", "StoreMaintenance", "StoreMigration", "StoreReports", "StoreEditing",
        "StoreContainers",
      ]),
    // The object graph with XML and property lists alone: what a program builds and links that needs no other part.
    .library(
      name: "AtomicStoreGraph", targets: ["AtomicStoreKit", "XMLStoreFormat", "BinaryPropertyListStoreFormat"]),
    // What a format author needs, and nothing else: no format, no libxml2, no object graph.
    .library(name: "AtomicStoreSPI", targets: ["AtomicStoreSPI"]),
    // A coordinator's log entries for a swift-log Logger.
    .library(name: "StoreLogging", targets: ["StoreLogging"]),
    // Core Data's own names, for sources that a Mac compiles with Core Data.
    .library(name: "CoreDataNames", targets: ["CoreDataNames"]),
    .library(name: "AtomicStoreConformance", targets: ["AtomicStoreConformance"]),
    // What a test target that runs conformance checks links beside the harness, and no other target: it replaces system
    // calls of the whole program, so that checks can count and fail them.
    .library(name: "AtomicStoreConformanceFaults", targets: ["CStoreFaults"]),
    // One dynamic library with all of it: what plug-ins and their tests link, so that there is one copy of the
    // kit. It replaces no system call.
    .library(
      name: "AtomicStoreKitDynamic", type: .dynamic,
      targets: [
        "AtomicStoreKit", "StoreCoordination", "StorePredicates", "AtomicStoreSPI", "StoreCodecs", "StoreSQL",
        "ArrowTables", "ModelFiles", "BuiltInStoreFormats", "StoreImporting", "StoreMaintenance", "StoreMigration",
        "StoreReports", "StoreEditing", "StoreContainers",
        "AtomicStoreConformance", "AtomicStoreCommand", "AtomicStoreConformCommand", "CStorePlugin",
      ]),
    .executable(name: "atomicstore", targets: ["atomicstore"]),
    // What `atomicstore conform` and `atomicstore browse` run.
    .executable(name: "atomicstore-conform", targets: ["atomicstore-conform"]),
    .executable(name: "atomicstore-browse", targets: ["atomicstore-browse"]),
    // Writes the classes of the models in a target whenever it is built. What it runs is small, and is built only for
    // packages with a target that names the plug-in.
    .plugin(name: "AtomicStoreModels", targets: ["AtomicStoreModels"]),
  ],
  traits: [
    // A program that uses the libraries only says `traits: []` where it names this package, and resolves nothing else.
    .trait(
      name: "Command",
      description:
        "The command atomicstore, which parses its arguments with swift-argument-parser and serves over FlyingFox's sockets."
    ),
    // Formats that need a library of the system: without the trait, neither is linked.
    .trait(name: "SQLite", description: "The stores CoreDataSQLite and SQLiteGraph, which need libsqlite3."),
    .trait(name: "PostgreSQL", description: "The store PostgreSQL, which needs libpq."),
    // A program that hands a logger to a coordinator: without the trait, the module StoreLogging is empty.
    .trait(name: "Logging", description: "The module StoreLogging, which passes log entries to a swift-log Logger."),
    .default(enabledTraits: ["Command", "SQLite", "PostgreSQL", "Logging"]),
  ],
  dependencies: [
    // For the command only: no library target depends on them.
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/swhitty/FlyingFox", from: "0.27.1"),
    // For StoreLogging only.
    .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
  ],
  targets: [
    // C: no C type leaves the one target that imports it.
    .systemLibrary(name: "CLibXML2", pkgConfig: "libxml-2.0", providers: [.apt(["libxml2-dev"])]),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    // Needs libpq's headers, and loads the library when a program first asks for it.
    .target(name: "CPostgreSQL"),
    // Needs ICU's headers, and loads the library when a pattern first needs it.
    .target(name: "CICU"),
    .target(name: "CPagedMemory"),
    .target(name: "CStoreFiles"),
    // Starts programs with streams, and nothing else of this process.
    .target(name: "CProcesses"),
    // Base64 with vector instructions.
    .target(name: "CBase64"),
    // Finds and checks text with vector instructions.
    .target(name: "CTextVectors"),

    // What codecs and stores share: errors with a location, exact decimals, property-list values, text compared by
    // scalars.
    .target(name: "StorePrimitives", dependencies: ["CPagedMemory"], swiftSettings: strict),

    // Bounded readers and writers of property lists, keyed archives, XML, CSV and text. They know neither files nor
    // entities.
    .target(
      name: "StoreCodecs", dependencies: ["StorePrimitives", "CBase64", "CTextVectors", "CLibXML2", "CZlib"],
      swiftSettings: strict),

    // Files: what a format reads and writes, and how the kit publishes it. They know neither entities nor formats.
    .target(name: "StoreFiles", dependencies: ["StorePrimitives", "CStoreFiles"], swiftSettings: strict),

    // What a format author imports: models, values, nodes, the store protocol. StoreFiles and StorePrimitives
    // are included.
    .target(name: "CStorePlugin"),
    .target(
      name: "AtomicStoreSPI", dependencies: ["StoreFiles", "StorePrimitives", "CStorePlugin", "CTextVectors"],
      swiftSettings: strict),

    // Arrow's interprocess format: bounded reader, writer, and columns of nodes. It knows no files.
    .target(name: "ArrowTables", dependencies: ["AtomicStoreSPI"], swiftSettings: strict),

    // Model files into a model, and back.
    .target(name: "ModelFiles", dependencies: ["AtomicStoreSPI", "StoreCodecs"], swiftSettings: strict),

    // Graphs in databases that speak SQL: tables, statements, predicates as SQL. A format adds a connection.
    .target(name: "StoreSQL", dependencies: ["AtomicStoreSPI", "StoreCodecs"], swiftSettings: strict),

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
      name: "CoreDataSQLiteStoreFormat", dependencies: ["AtomicStoreSPI", "StoreCodecs", "ModelFiles", "CSQLite"],
      path: "StoreFormats/CoreDataSQLite",
      exclude: ["FORMAT.md"], packageAccess: false, swiftSettings: strict),
    .target(
      name: "CoreDataBinaryStoreFormat", dependencies: ["AtomicStoreSPI", "StoreCodecs"],
      path: "StoreFormats/CoreDataBinary",
      exclude: ["FORMAT.md"], packageAccess: false, swiftSettings: strict),
    .target(
      name: "SQLiteGraphStoreFormat", dependencies: ["AtomicStoreSPI", "StoreSQL", "CSQLite"],
      path: "StoreFormats/SQLiteGraph", exclude: ["FORMAT.md"], packageAccess: false, swiftSettings: strict),
    .target(
      name: "PostgreSQLStoreFormat", dependencies: ["AtomicStoreSPI", "StoreSQL", "CPostgreSQL"],
      path: "StoreFormats/PostgreSQL", exclude: ["FORMAT.md"], packageAccess: false, swiftSettings: strict),
    .target(
      name: "ArrowStoreFormat", dependencies: ["AtomicStoreSPI", "StoreCodecs", "ArrowTables"],
      path: "StoreFormats/Arrow", exclude: ["FORMAT.md"], packageAccess: false, swiftSettings: strict),
    .target(
      name: "BuiltInStoreFormats",
      dependencies: [
        "AtomicStoreSPI", "XMLStoreFormat", "BinaryPropertyListStoreFormat", "CSVStoreFormat",
        "CoreDataBinaryStoreFormat", "ArrowStoreFormat",
        .target(name: "CoreDataSQLiteStoreFormat", condition: .when(traits: ["SQLite"])),
        .target(name: "SQLiteGraphStoreFormat", condition: .when(traits: ["SQLite"])),
        .target(name: "PostgreSQLStoreFormat", condition: .when(traits: ["PostgreSQL"])),
      ],
      path: "StoreFormats/BuiltIn", swiftSettings: strict),

    // JSON, of one form everywhere: stored values, references, metadata; read and written exactly.
    .target(
      name: "StoreJSON", dependencies: ["AtomicStoreSPI", "StoreCodecs", "StorePrimitives"], swiftSettings: strict),

    // Store types that are programs in any language, which are asked over their standard streams.
    .target(
      name: "StorePrograms",
      dependencies: [
        "AtomicStoreSPI", "StoreFiles", "StoreCodecs", "StoreJSON", "ArrowTables", "CProcesses",
      ],
      swiftSettings: strict),

    // The stack, in three parts that know the SPI and never a format; of the codecs they use the exact texts of dates.
    // Stores without objects: coordinator, opening, saving, converting, comparing. Predicates without objects: text,
    // checks, evaluation of whatever is a PredicateSubject. And the object graph, which re-exports both: programs
    // import it alone.
    .target(name: "StoreCoordination", dependencies: ["AtomicStoreSPI", "StoreCodecs"], swiftSettings: strict),
    .target(
      name: "StorePredicates", dependencies: ["AtomicStoreSPI", "StoreCodecs", "StoreJSON", "CICU"],
      swiftSettings: strict),
    .target(
      name: "AtomicStoreKit", dependencies: ["AtomicStoreSPI", "StoreCoordination", "StorePredicates", "StoreCodecs"],
      swiftSettings: strict),

    // What people do to whole stores, without objects: tables of other programs into a graph; checking one; bringing
    // one to another version of its model. They work on columns and know no format.
    .target(
      name: "StoreMaintenance", dependencies: ["AtomicStoreSPI", "StoreJSON", "StoreCoordination", "StorePredicates"],
      swiftSettings: strict),
    .target(
      name: "StoreImporting",
      dependencies: [
        "AtomicStoreSPI", "StoreCodecs", "StoreJSON", "ArrowTables", "StoreCoordination", "StorePredicates",
        "StoreMaintenance",
      ],
      swiftSettings: strict),
    .target(
      name: "StoreMigration",
      dependencies: [
        "AtomicStoreSPI", "StoreCodecs", "StoreJSON", "StoreCoordination", "StorePredicates", "ModelFiles",
      ],
      swiftSettings: strict),

    // What people look at: pictures of models, pages about stores, and what is questionable in a model.
    .target(
      name: "StoreReports",
      dependencies: [
        "AtomicStoreSPI", "StorePrimitives", "StoreCodecs", "StoreJSON", "StoreCoordination", "StorePredicates",
        "StoreMaintenance",
      ],
      swiftSettings: strict),

    // The classes of a model's entities as Swift source: for the command, and for the plug-in, which runs a separate
    // program so that a build needs neither the command nor the object graph.
    .target(
      name: "ModelClasses", dependencies: ["AtomicStoreSPI", "StorePredicates"], swiftSettings: strict),
    .executableTarget(
      name: "atomicstore-model-classes", dependencies: ["ModelClasses", "ModelFiles", "AtomicStoreSPI"],
      swiftSettings: strict),
    .plugin(
      name: "AtomicStoreModels", capability: .buildTool(), dependencies: ["atomicstore-model-classes"]),

    // Changes to many objects of the graph at once; objects as JSON, and back.
    .target(
      name: "StoreEditing", dependencies: ["AtomicStoreKit", "AtomicStoreSPI", "StoreJSON", "StorePredicates"],
      swiftSettings: strict),

    // Where a program begins: a model by name, the stores of a program, contexts for actors. The one target of
    // libraries that knows the list of built-in formats besides the graph.
    .target(
      name: "StoreContainers",
      dependencies: ["AtomicStoreKit", "AtomicStoreSPI", "BuiltInStoreFormats", "ModelFiles", "StoreMigration"],
      swiftSettings: strict),

    // Core Data's names for the kit's types and events, for sources that a Mac compiles with Core Data. The one library
    // target that imports all of Foundation, as Core Data does.
    .target(
      name: "CoreDataNames",
      dependencies: [
        "StoreContainers", "AtomicStoreKit", "AtomicStoreSPI", "ModelFiles", "StoreCoordination", "StoreMigration",
        "StorePredicates",
      ],
      swiftSettings: strict),

    // Log entries for swift-log: the one library target with a dependency on another package.
    .target(
      name: "StoreLogging",
      dependencies: [
        "AtomicStoreKit", .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Logging"])),
      ],
      swiftSettings: strict),

    // The harness that proves a format. No test framework inside. Incremental stores are compared with a property list,
    // the one format that it knows. Its C part forks, sets limits, and shares between
    // processes what is done to the system calls of a save.
    .target(name: "CConformance", dependencies: ["CProcesses"]),
    .target(
      name: "AtomicStoreConformance",
      dependencies: [
        "AtomicStoreKit", "StoreCoordination", "AtomicStoreSPI", "StoreJSON", "BinaryPropertyListStoreFormat",
        "CConformance", "CProcesses",
      ],
      swiftSettings: strict),
    // Formats of other designs, written as an outsider would, that can be told to make mistakes: what the harness is
    // tested on besides the kit's own formats.
    .target(
      name: "FaultyDesigns", dependencies: ["AtomicStoreSPI"], packageAccess: false, swiftSettings: strict),
    // The replaced calls: `write`, `rename` and so on, defined again. Only atomicstore-conform and tests link this
    // target; nothing imports it, and the harness finds it through a weak reference.
    .target(name: "CStoreFaults", cSettings: [.headerSearchPath("../CConformance/include")]),

    // Hostile inputs, and what each reader must make of them: for the tests here and for Fuzzing/.
    .target(
      name: "StoreMutation",
      dependencies: ["AtomicStoreKit", "AtomicStoreSPI", "StoreCodecs", "ModelFiles", "BuiltInStoreFormats"],
      swiftSettings: strict),

    // What the two programs share: arguments, plug-ins, output, errors with exit codes, signals. It knows nothing of
    // the stack.
    .target(
      name: "CommandSupport",
      dependencies: [
        "AtomicStoreSPI", "StorePrograms", "StoreJSON", "StoreCodecs", "BuiltInStoreFormats", argumentParser,
      ],
      swiftSettings: strict),

    // The command, as a library for programs with their own formats.
    .target(
      name: "AtomicStoreCommand",
      dependencies: [
        "CommandSupport", "AtomicStoreKit", "StoreCoordination", "AtomicStoreSPI", "StoreCodecs", "ModelFiles",
        "ArrowTables", "BuiltInStoreFormats", "StoreImporting", "StoreMaintenance", "StoreMigration", "StoreReports",
        "StoreEditing", "ModelClasses", "StorePredicates",
        argumentParser,
      ], swiftSettings: strict),
    // What the commands alone have: a plug-in that ends the program is named.
    .target(name: "CExitGuard", dependencies: ["CStorePlugin"]),
    .executableTarget(
      name: "atomicstore", dependencies: ["AtomicStoreCommand", "CExitGuard"], swiftSettings: strict,
      linkerSettings: exportingSymbols),

    // `atomicstore conform`, which is a separate program: the only one in which system calls are replaced.
    .target(
      name: "AtomicStoreConformCommand",
      dependencies: [
        "CommandSupport", "AtomicStoreConformance", "FaultyDesigns", "AtomicStoreSPI", "StorePrograms",
        "BuiltInStoreFormats", argumentParser,
      ],
      swiftSettings: strict),
    .executableTarget(
      name: "atomicstore-conform", dependencies: ["AtomicStoreConformCommand", "CStoreFaults", "CExitGuard"],
      swiftSettings: strict,
      linkerSettings: exportingSymbols),

    // `atomicstore browse`: what a page asks about an open store, and a server for it, which is a separate program so
    // that the command needs no web server.
    .target(
      name: "StoreBrowsing",
      dependencies: [
        "AtomicStoreKit", "AtomicStoreSPI", "StoreCoordination", "StorePredicates", "StoreJSON", "StoreMaintenance",
        "StoreReports",
      ],
      swiftSettings: strict),
    .target(
      name: "AtomicStoreBrowseCommand",
      dependencies: [
        "AtomicStoreCommand", "CommandSupport", "StoreBrowsing", "StoreReports", "StoreJSON", "AtomicStoreSPI",
        .product(name: "FlyingSocks", package: "FlyingFox", condition: .when(traits: ["Command"])), argumentParser,
      ],
      swiftSettings: strict),
    .executableTarget(
      name: "atomicstore-browse", dependencies: ["AtomicStoreBrowseCommand", "CExitGuard"], swiftSettings: strict,
      linkerSettings: exportingSymbols),

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
    .executableTarget(
      name: "tracker", dependencies: ["StoreContainers", "AtomicStoreSPI"], path: "SampleStores/Tracker",
      packageAccess: false, swiftSettings: strict),

    .target(
      name: "ContactBook", dependencies: ["StoreContainers", "AtomicStoreSPI"], path: "SampleStores/Contacts/Book",
      packageAccess: false, swiftSettings: strict),
    .executableTarget(
      name: "contacts", dependencies: ["ContactBook"], path: "SampleStores/Contacts/Command", packageAccess: false,
      swiftSettings: strict),

    // Counts how often memory is asked for: a test holds the numbers to bounds.
    .target(name: "CAllocationCount", path: "Benchmarks/AllocationGuard/CAllocationCount"),
    .executableTarget(
      name: "allocation-guard",
      dependencies: ["CAllocationCount", "AtomicStoreKit", "AtomicStoreSPI", "BuiltInStoreFormats"],
      path: "Benchmarks/AllocationGuard/Command", swiftSettings: strict),

    // What Benchmarks/guard runs: operations whose instructions are counted at several sizes.
    .target(name: "CInstructionMark", path: "Benchmarks/GrowthGuard/CInstructionMark"),
    .executableTarget(
      name: "growth-guard",
      dependencies: [
        "CInstructionMark", "AtomicStoreKit", "StoreCoordination", "AtomicStoreSPI", "BuiltInStoreFormats",
      ],
      path: "Benchmarks/GrowthGuard/Command", swiftSettings: strict),

    // Several contexts that change one store at random, and one context compared with plain values: for tests, and as
    // programs for the long run.
    .target(
      name: "ContextScripts", dependencies: ["AtomicStoreKit", "AtomicStoreSPI", "BuiltInStoreFormats"],
      path: "Tests/ContextScripts", swiftSettings: strict),
    .executableTarget(
      name: "random-contexts", dependencies: ["ContextScripts"], path: "Tests/RandomContexts", swiftSettings: strict),
    .executableTarget(
      name: "random-walk", dependencies: ["ContextScripts"], path: "Tests/RandomWalk", swiftSettings: strict),

    // What the tests of several targets need. The C part runs tasks on more threads, for tests that wait.
    .target(name: "CTestSupport", path: "Tests/CTestSupport"),
    .target(
      name: "TestSupport", dependencies: ["CProcesses", "CTestSupport"], path: "Tests/TestSupport",
      swiftSettings: strict),
    .testTarget(name: "StorePrimitivesTests", dependencies: ["StorePrimitives"], swiftSettings: strict),
    .testTarget(
      name: "StoreFilesTests", dependencies: ["StoreFiles", "CConformance", "CStoreFiles"], swiftSettings: strict),
    .testTarget(name: "StoreCodecsTests", dependencies: ["StoreCodecs", "TestSupport"], swiftSettings: strict),
    .testTarget(
      name: "AtomicStoreSPITests", dependencies: ["AtomicStoreSPI", "TestSupport"], exclude: ["Vectors"],
      swiftSettings: strict),
    .testTarget(
      name: "ModelFilesTests", dependencies: ["ModelFiles", "AtomicStoreSPI", "StoreCodecs", "StorePredicates"],
      swiftSettings: strict),
    .testTarget(
      name: "StoreFormatsTests",
      dependencies: [
        "BuiltInStoreFormats", "CSVStoreFormat", "ArrowStoreFormat", "ArrowTables", "AtomicStoreKit", "AtomicStoreSPI",
        "ModelFiles", "StoreCodecs", "StoreMaintenance",
        "TestSupport",
      ],
      exclude: ["Fixtures"], swiftSettings: strict),
    .testTarget(
      name: "HostileInputTests",
      dependencies: [
        "StoreMutation", "AtomicStoreKit", "AtomicStoreSPI", "BuiltInStoreFormats", "ModelFiles", "StoreCodecs",
        "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "StoreCoordinationTests",
      dependencies: ["StoreCoordination", "AtomicStoreSPI", "BuiltInStoreFormats", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "StoreProgramsTests",
      dependencies: ["StorePrograms", "ArrowTables", "AtomicStoreSPI", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "StoreImportingTests",
      dependencies: [
        "StoreImporting", "StoreMaintenance", "StoreCoordination", "StorePredicates", "StoreJSON", "AtomicStoreSPI",
        "BuiltInStoreFormats", "ModelFiles",
        "StoreCodecs", "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "StoreEditingTests",
      dependencies: [
        "StoreEditing", "AtomicStoreKit", "AtomicStoreSPI", "BuiltInStoreFormats", "ModelFiles", "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "StoreReportsTests",
      dependencies: [
        "StoreReports", "StoreMaintenance", "StoreCoordination", "StoreJSON", "AtomicStoreSPI", "BuiltInStoreFormats",
        "ModelFiles", "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "StoreMigrationTests",
      dependencies: [
        "StoreMigration", "StoreCoordination", "StorePredicates", "AtomicStoreSPI", "BuiltInStoreFormats", "ModelFiles",
        "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "StorePredicatesTests", dependencies: ["StorePredicates", "AtomicStoreSPI", "TestSupport"],
      swiftSettings: strict),
    .testTarget(
      name: "AtomicStoreKitTests",
      dependencies: ["AtomicStoreKit", "AtomicStoreSPI", "StoreCodecs", "BuiltInStoreFormats"],
      swiftSettings: strict),
    .testTarget(
      name: "ObjectGraphTests",
      dependencies: [
        "AtomicStoreKit", "StorePredicates", "AtomicStoreSPI", "BuiltInStoreFormats", "ModelFiles", "ContextScripts",
        "StoreContainers", "StoreLogging", "TestSupport",
        .product(name: "Logging", package: "swift-log", condition: .when(traits: ["Logging"])),
      ],
      swiftSettings: strict),
    .testTarget(
      name: "ConformanceTests",
      dependencies: [
        "AtomicStoreConformance", "FaultyDesigns", "AtomicStoreKit", "AtomicStoreSPI", "CConformance", "CProcesses",
        "CStoreFaults",
        "XMLStoreFormat",
        "BinaryPropertyListStoreFormat", "CSVStoreFormat", "CoreDataSQLiteStoreFormat", "CoreDataBinaryStoreFormat",
        "ArrowStoreFormat", "ModelFiles", "StoreMutation", "TestSupport",
      ],
      swiftSettings: strict),
    .testTarget(
      name: "IncrementalStoreTests",
      dependencies: [
        "AtomicStoreKit", "AtomicStoreSPI", "StoreSQL", "SQLiteGraphStoreFormat", "PostgreSQLStoreFormat",
        "BuiltInStoreFormats", "ModelFiles", "AtomicStoreConformance", "CStoreFaults",
        "StorePredicates", "StoreMaintenance", "StoreMigration", "StoreEditing", "TestSupport", "ContextScripts",
      ],
      swiftSettings: strict),
    .testTarget(name: "CoreDataNamesTests", dependencies: ["CoreDataNames"], swiftSettings: strict),
    .testTarget(
      name: "IClassTests",
      dependencies: ["IClassObjects", "AtomicStoreKit", "AtomicStoreSPI", "BuiltInStoreFormats", "ModelFiles"],
      path: "SampleStores/iClass/Tests", swiftSettings: strict),
    .testTarget(
      name: "ContactsTests", dependencies: ["contacts", "ContactBook", "AtomicStoreKit", "TestSupport"],
      path: "SampleStores/Contacts/Tests", swiftSettings: strict),
    .testTarget(
      name: "CommandTests",
      dependencies: [
        "atomicstore", "atomicstore-conform", "atomicstore-browse", "allocation-guard", "departments", "friendinfo",
        "iclass", "tracker", "AtomicStoreCommand", "CommandSupport",
        "AtomicStoreConformance", argumentParser,
        "TestSupport", "ArrowTables", "AtomicStoreKit", "AtomicStoreSPI", "ModelFiles", "BuiltInStoreFormats",
      ],
      swiftSettings: strict),
  ]
)

// For Fuzzing/, which is a separate package: hostile inputs, and the judge of what readers make of them. Scripts/fuzz
// asks for this product; users of the package do not see it.
if Context.environment["ATOMICSTORE_FUZZING"] != nil {
  package.products.append(.library(name: "StoreMutation", targets: ["StoreMutation"]))
}

// While one part is worked on: `ATOMICSTORE_TESTS=IncrementalStoreTests swift build --build-tests` builds no other
// tests.
if let names = Context.environment["ATOMICSTORE_TESTS"]?.split(separator: ",").map(String.init) {
  package.targets.removeAll { $0.type == .test && !names.contains($0.name) }
}

/// The folders of Sources, and the targets in each, from the bottom up: what is below one may not import it.
let groups: [(folder: String, targets: [String])] = [
  (
    "C",
    [
      "CBase64", "CTextVectors", "CLibXML2", "CZlib", "CICU", "CPagedMemory", "CStoreFiles", "CProcesses",
      "CStorePlugin", "CSQLite", "CPostgreSQL", "CExitGuard", "CConformance", "CStoreFaults",
    ]
  ),
  ("Foundations", ["StorePrimitives", "StoreCodecs", "StoreFiles"]),
  ("SPI", ["AtomicStoreSPI", "ArrowTables", "ModelFiles", "StoreJSON", "StorePrograms"]),
  ("Databases", ["StoreSQL"]),
  ("Graph", ["StoreCoordination", "StorePredicates", "AtomicStoreKit", "StoreEditing"]),
  ("Data", ["StoreImporting", "StoreMaintenance", "StoreMigration"]),
  ("Programs", ["StoreContainers", "StoreLogging", "CoreDataNames"]),
  ("Reports", ["StoreReports", "StoreBrowsing"]),
  (
    "Command",
    [
      "CommandSupport", "AtomicStoreCommand", "AtomicStoreBrowseCommand", "ModelClasses", "AtomicStoreModels",
      "atomicstore", "atomicstore-browse", "atomicstore-model-classes",
    ]
  ),
  (
    "Conformance",
    ["AtomicStoreConformance", "FaultyDesigns", "StoreMutation", "AtomicStoreConformCommand", "atomicstore-conform"]
  ),
]
for (folder, names) in groups {
  for target in package.targets where names.contains(target.name) { target.path = "Sources/\(folder)/\(target.name)" }
}

import AtomicStoreKit
import BuiltInStoreFormats
import FoundationEssentials

extension HostileReader {
  /// Good inputs, and bad ones that were found before: what changes begin with.
  ///
  /// - Parameters:
  ///   - samples: The folder `SampleStores`.
  ///   - corpus: A folder of public files, or nil.
  ///   - limit: Larger files are left out.
  public func seeds(samples: String, corpus: String? = nil, limit: Int = 65_536) throws -> [[UInt8]] {
    func file(_ path: String) throws -> [UInt8] { Array(try Data(contentsOf: URL(filePath: samples + "/" + path))) }
    func folder(_ path: String) throws -> [UInt8] {
      let names = try FileManager.default.contentsOfDirectory(atPath: samples + "/" + path).sorted()
      return PackedCSV.packed(try names.map { ($0, try file(path + "/" + $0)) })
    }
    func damaged(_ suffix: String) throws -> [[UInt8]] {
      let names = try FileManager.default.contentsOfDirectory(atPath: samples + "/Damaged").sorted()
      return try names.filter { $0.hasSuffix(suffix) }.map {
        $0.hasSuffix("store") ? try folder("Damaged/" + $0) : try file("Damaged/" + $0)
      }
    }
    var seeds: [[UInt8]]
    switch self {
    case .xmlStore:
      seeds =
        Self.xmlStores.map { Array($0.utf8) } + [
          try file("FriendInfo/FriendInfo.xml"), try file("Company/Company.xml"),
        ]
      seeds += try damaged(".xml")
    case .model:
      seeds = [Array(Self.smallModel.utf8)]
      for path in [
        "Company/Company.xcdatamodeld/Company", "FriendInfo/FriendInfo.xcdatamodeld/FriendInfo",
        "iClass/iClass.xcdatamodeld/iClass",
      ] {
        seeds.append(try file(path + ".xcdatamodel/contents"))
      }
      seeds += try damaged(".xcdatamodel")
    case .modelArchive: seeds = try Self.modelArchives()
    case .binaryPropertyList:
      seeds =
        [Self.smallList, try file("FriendInfo/FriendInfo.plist"), try file("Company/Company.plist")]
        + (try damaged(".plist"))
    case .csvStore:
      seeds =
        Self.csvFiles.map { Array($0.utf8) } + [
          try folder("FriendInfo/FriendInfo.csvstore"), try folder("Company/Company.csvstore"),
        ]
      seeds += try damaged(".csv") + damaged(".csvstore")
    case .coreDataBinary: seeds = [try Self.binaryStore(samples)]
    case .arrowStore: seeds = try Self.arrowFiles(samples).map(\.bytes)
    case .coreDataSQLite:
      seeds = [try file("People/People.sqlite"), try file("History/History.sqlite")] + (try damaged(".sqlite"))
    case .xmlPropertyList:
      seeds = [
        Array(Self.xmlList.utf8), try file("FriendInfo/FriendInfo.csvstore/metadata.plist"),
        try file("Company/Company.xcdatamodeld/.xccurrentversion"),
      ]
    case .predicate: seeds = Self.predicates.map { Array($0.utf8) }
    case .objectURI: seeds = Self.uris.map { Array($0.utf8) }
    }
    seeds += ProductShape.all.filter { $0.reader == self }.map(\.seed)
    if let corpus { seeds += publicFiles(corpus) }
    return seeds.filter { $0.count <= limit }
  }

  /// A sample as a binary store.
  private static func binaryStore(_ samples: String) throws -> [UInt8] {
    let path =
      FileManager.default.temporaryDirectory.path(percentEncoded: false) + "/" + "seed-\(UUID().uuidString).binary"
    defer { try? FileManager.default.removeItem(atPath: path) }
    _ = try StoreConverter(registry: .builtIn).convert(from: samples + "/FriendInfo/FriendInfo.xml", to: path)
    return Array(try Data(contentsOf: URL(filePath: path)))
  }

  private func publicFiles(_ corpus: String) -> [[UInt8]] {
    func files(_ folder: String, _ isWanted: (String) -> Bool) -> [[UInt8]] {
      let names = (try? FileManager.default.contentsOfDirectory(atPath: corpus + "/" + folder))?.sorted() ?? []
      return names.filter(isWanted).compactMap {
        try? Array(Data(contentsOf: URL(filePath: corpus + "/" + folder + "/" + $0)))
      }
    }
    switch self {
    case .xmlStore: return files("xmlstores") { _ in true }
    case .model: return files("models") { $0.hasSuffix("contents") }
    case .modelArchive: return files("mom") { $0.hasSuffix(".mom") } + files("oldmodels") { $0.hasSuffix("elements") }
    case .binaryPropertyList:
      return (files("plist") { _ in true } + files("mom") { _ in true }).filter { $0.starts(with: "bplist".utf8) }
    case .xmlPropertyList: return files("plist") { _ in true }.filter { $0.first == UInt8(ascii: "<") }
    case .coreDataSQLite: return files("sqlite") { _ in true }
    case .coreDataBinary: return files("binary") { _ in true }
    case .csvStore: return files("csv") { $0.hasSuffix(".csv") }
    case .predicate:
      let lines = (try? Data(contentsOf: URL(filePath: corpus + "/predicates_public.txt"))) ?? Data()
      return lines.split(separator: UInt8(ascii: "\n")).compactMap {
        (try? JSONDecoder().decode(String.self, from: Data($0))).map { Array($0.utf8) }
      }
    case .arrowStore, .objectURI: return []
    }
  }

  // MARK: Small ones, which are changed more often where it matters

  static let documentHead = """
    <?xml version="1.0" standalone="yes"?>
    <!DOCTYPE database SYSTEM "file:///System/Library/DTDs/CoreData.dtd">

    <database>
        <databaseInfo>
            <version>134481920</version>
            <UUID>0F7D2C1A-6A31-4D0B-8E57-F21E2D1F0A11</UUID>
            <nextObjectID>6</nextObjectID>
            <metadata>
                <plist version="1.0">
                    <dict>
                        <key>NSPersistenceFrameworkVersion</key>
                        <integer>1320</integer>
                        <key>Note</key>
                        <string>text</string>
                    </dict>
                </plist>
            </metadata>
        </databaseInfo>

    """
  private static let xmlStores = [
    documentHead + """
          <object type="PERSON" id="z1">
              <attribute name="name" type="string">Shelly</attribute>
              <relationship name="friends" type="0/0" destination="FRIENDINFO" idrefs="z2"></relationship>
          </object>
          <object type="FRIENDINFO" id="z2">
              <attribute name="ranking" type="int32">1</attribute>
              <attribute name="comment" type="string">a\\u0001b &amp; c</attribute>
              <relationship name="source" type="1/1" destination="PERSON" idrefs="z1"></relationship>
              <relationship name="friend" type="1/1" destination="PERSON" idrefs="z1"></relationship>
          </object>
      </database>
      """,
    documentHead + """
          <object type="KINDS" id="z7">
              <attribute name="a" type="int16">-5</attribute>
              <attribute name="b" type="int64">9223372036854775807</attribute>
              <attribute name="c" type="decimal">1.50</attribute>
              <attribute name="d" type="double">0.1</attribute>
              <attribute name="e" type="float">1.5</attribute>
              <attribute name="f" type="bool">1</attribute>
              <attribute name="g" type="date">123456.5</attribute>
              <attribute name="h" type="binary">QUJD</attribute>
              <attribute name="i" type="uuid">A70E1C5D-3B42-4F10-9C66-000000000003</attribute>
              <attribute name="j" type="uri">https://example.com/</attribute>
              <attribute name="k" type="string"></attribute>
              <relationship name="one" type="0/1" destination="KINDS" idrefs="z8"></relationship>
              <relationship name="many" type="0/0" destination="KINDS" idrefs="z7 z8"></relationship>
          </object>
          <object type="KINDS" id="z8"></object>
      </database>
      """,
  ]
  private static let smallModel = """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" lastSavedToolsVersion="1" systemVersion="1" minimumToolsVersion="Automatic" sourceLanguage="Swift" userDefinedModelVersionIdentifier="v1">
        <entity name="A" representedClassName="A" isAbstract="YES" syncable="YES">
            <attribute name="n" optional="YES" attributeType="Integer 16" minValueString="-5" maxValueString="5" defaultValueString="0" usesScalarValueType="YES"/>
            <attribute name="s" attributeType="String" minValueString="1" maxValueString="9" regularExpressionString="[a-z]+" defaultValueString="x"/>
            <attribute name="d" optional="YES" attributeType="Date" defaultDateTimeInterval="0" usesScalarValueType="NO"/>
            <attribute name="t" optional="YES" attributeType="Transformable" valueTransformerName="T" customClassName="C"/>
            <attribute name="c" optional="YES" attributeType="Composite" elements="K"/>
            <relationship name="bs" optional="YES" toMany="YES" minCount="0" maxCount="4" ordered="YES" deletionRule="Cascade" destinationEntity="B" inverseName="a" inverseEntity="B"/>
            <fetchedProperty name="f" optional="YES"><fetchRequest name="r" entity="B" predicateString="n == $FETCH_SOURCE.n"/></fetchedProperty>
            <fetchIndex name="i"><fetchIndexElement property="n" type="Binary" order="ascending"/></fetchIndex>
            <uniquenessConstraints><uniquenessConstraint><constraint value="s"/></uniquenessConstraint></uniquenessConstraints>
            <userInfo><entry key="k" value="v"/></userInfo>
        </entity>
        <entity name="B" parentEntity="A" elementID="q" versionHashModifier="m"><relationship name="a" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="A" inverseName="bs" inverseEntity="A"/></entity>
        <compositeType name="K"><attribute name="x" optional="YES" attributeType="Double"/></compositeType>
        <configuration name="Some"><memberEntity name="B"/></configuration>
        <fetchRequest name="all" entity="A" predicateString="TRUEPREDICATE" fetchLimit="5"/>
        <elements><element name="A" positionX="1" positionY="2" width="3" height="4"/></elements>
    </model>
    """
  private static let smallList =
    Array("bplist00".utf8) + [0xD2, 1, 2, 3, 4, 0x51, UInt8(ascii: "a"), 0x51, UInt8(ascii: "b"), 0xA2, 5, 6, 0x10, 7]
    + [
      0x09, 0x23, 0x3F, 0xF0, 0, 0, 0, 0, 0, 0, 8, 13, 15, 17, 20, 22, 23, 0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0,
      7,
    ]
    + [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 32] as [UInt8]
  private static let xmlList = """
    <?xml version="1.0" encoding="UTF-8"?>
    <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
    <plist version="1.0"><dict><key>a</key><array><integer>-1</integer><real>0.1</real><true/><false/></array><key>b</key><date>2001-01-01T00:00:00Z</date>
    <key>c</key><data>QUJD</data><key>d</key><string>x &lt; y</string><key>e</key><dict><key>CF$UID</key><integer>3</integer></dict></dict></plist>
    """
  private static let csvFiles = [
    "id:Reference,name:String,age:Integer 16,on:Boolean,friend->Person\n1,Ann,20,true,2\n2,\"B\"\"o\n\",,false,\n",
    "id:Reference,a:Integer 64,b:Decimal,c:Double,d:Float,e:Date,f:Binary,g:UUID,h:URI,i:Undefined,list->>Person (ordered)\n"
      + "1,-5,1.50,0.1,1.5,2001-01-01T00:00:00Z,QUJD,A70E1C5D-3B42-4F10-9C66-000000000003,https://example.com/,string:x,1 s:k%20\n"
      + "s:k%20,,,nan,-inf,,\"\",,,boolean:true,\n",
    "name;age\r\nAnn;20\r\n\"Bo\";\r\n", "\u{1F}key=name\theader=yes\nname,age\nAnn,20\nBo,30\n",
    "\u{1F}types=age=Integer 16,born=Date\tdateFormat=dd.MM.yyyy\nage,born\n5,24.12.2001\n", "\u{FEFF}a\tb\n1\t2\n",
    "=1+1,+2,-3,@x\n=\"a\",b,c,d\n",
  ]
  private static let predicates = [
    "name == 'Ann' AND badge > 5", "ANY projects.title BEGINSWITH[cd] 'a'",
    "SUBQUERY(reports, $x, $x.badge > 1 AND $x.active == YES).@count > 2",
    "salary BETWEEN {1, 2.5} OR NOT (department.name IN {'a', nil})",
    "name MATCHES '(a|b)+c{2,3}' && email LIKE[c] '*@?x*'", "CAST(hired, 'NSNumber') + 5 * 2 ** 3 - 1 / 4 == 1e3",
    "projects.@count == 0 AND reports.@sum.badge != 3", "%K == %@ AND rating < %f",
    "TERNARY(active, 1, 2) IN {1} UNION {2}", "FUNCTION(name, 'uppercase:') == uppercase('a')",
    "SELF IN %@", "employees[FIRST].badge > 0 OR ALL employees.badge > 1", "modulus:by:(badge, 7) == 1 && sqrt:(4) = 2",
    "#in.#and == $x", "TRUEPREDICATE",
    "'a' ENDSWITH[n] \"\\u00e9\\n\" OR 0x1F == 31",
  ]
  private static let uris = [
    "x-coredata://5B1D9F0C-58F3-4C5A-9E0B-0C0FFEE0C0DE/Employee/p3",
    "x-coredata://5B1D9F0C-58F3-4C5A-9E0B-0C0FFEE0C0DE/Employee/psa%20b%C3%A9",
    "x-coredata:///Employee/tA70E1C5D-3B42-4F10-9C66-000000000003",
    "x-coredata://5B1D9F0C-58F3-4C5A-9E0B-0C0FFEE0C0DE/%C3%89cole/p-9223372036854775808",
  ]
}

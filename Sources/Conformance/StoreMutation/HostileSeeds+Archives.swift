import StoreCodecs

/// Small model archives, of a compiled model and of one from before Xcode 4: what changes begin with.
extension HostileReader {
  static func modelArchives() throws -> [[UInt8]] {
    try [compiledModel(), oldModel()].flatMap { [try PropertyList.encodeBinary($0), try PropertyList.encodeXML($0)] }
  }

  /// Objects by number, with a reference to each new one.
  private struct Archive {
    var objects: [PropertyListValue] = ["$null"]
    var classes: [String: PropertyListValue] = [:]

    mutating func add(_ value: PropertyListValue) -> PropertyListValue {
      objects.append(value)
      return .uid(UInt64(objects.count - 1))
    }
    mutating func fields(_ names: [String], _ fields: PropertyListDictionary) -> PropertyListValue {
      let name = names.joined(separator: " ")
      let known =
        classes[name] ?? add(["$classname": .string(names[0]), "$classes": .array(names.map { .string($0) })])
      classes[name] = known
      var fields = fields
      fields["$class"] = known
      return .dictionary(fields)
    }
    mutating func object(_ names: String..., fields: PropertyListDictionary) -> PropertyListValue {
      let value = self.fields(names, fields)
      return add(value)
    }
    mutating func array(_ elements: [PropertyListValue]) -> PropertyListValue {
      object("NSArray", fields: ["NS.objects": .array(elements)])
    }
    mutating func table(_ entries: [(String, PropertyListValue)]) -> PropertyListValue {
      let keys = entries.map { add(.string($0.0)) }
      return object(
        "NSMutableDictionary", "NSDictionary",
        fields: ["NS.keys": .array(keys), "NS.objects": .array(entries.map(\.1))])
    }
    func list(root: PropertyListValue) -> PropertyListValue {
      ["$archiver": "NSKeyedArchiver", "$version": 100_000, "$top": ["root": root], "$objects": .array(objects)]
    }
  }

  private static func compiledModel() -> PropertyListValue {
    var archive = Archive()
    let parent = archive.add("$null")
    let own = archive.object("NSSelfExpression", "NSExpression", fields: ["NSExpressionType": 1])
    let constant = archive.object(
      "NSConstantValueExpression", "NSExpression", fields: ["NSConstantValue": archive.add(3)])
    let sign = archive.object("NSComparisonPredicateOperator", fields: ["NSOperatorType": 3, "NSModifier": 0])
    let bound = archive.object(
      "NSComparisonPredicate", "NSPredicate",
      fields: ["NSLeftExpression": own, "NSRightExpression": constant, "NSPredicateOperator": sign])
    let number = archive.object(
      "NSAttributeDescription", "NSPropertyDescription",
      fields: [
        "NSPropertyName": archive.add("n"), "NSAttributeType": 200, "_P": 243, "NSFlagsKey": 4,
        "NSDefaultValue": archive.add(7),
        "NSValidationPredicates": archive.array([bound]),
      ])
    let link = archive.object(
      "NSRelationshipDescription", "NSPropertyDescription",
      fields: [
        "NSPropertyName": archive.add("r"), "_NSDestinationEntityName": archive.add("A"), "NSMaxCount": 0,
        "NSMinCount": 0, "NSDeleteRule": 2,
        "_P": 1267, "_NSInverseRelationshipName": .uid(0),
      ])
    let child = archive.object(
      "NSEntityDescription",
      fields: [
        "NSEntityName": archive.add("B"), "NSSuperentity": parent, "NSProperties": archive.table([("r", link)]),
        "NSUserInfo": archive.table([("k", archive.add("v"))]),
      ])
    let top = archive.fields(
      ["NSEntityDescription"],
      [
        "NSEntityName": archive.add("A"), "NSProperties": archive.table([("n", number)]),
        "NSClassNameForEntity": archive.add("A"),
        "NSUniqueTuples": archive.array([archive.array([archive.add("n")])]), "NSIsAbstract": true,
      ])
    if case .uid(let index) = parent { archive.objects[Int(index)] = top }
    let request = archive.object(
      "NSFetchRequest", fields: ["NSEntity": parent, "NSPredicate": bound, "NSFetchLimit": 5])
    let model = archive.object(
      "NSManagedObjectModel",
      fields: [
        "NSEntities": archive.table([("A", parent), ("B", child)]),
        "NSFetchRequestTemplates": archive.table([("all", request)]),
      ])
    return archive.list(root: model)
  }

  private static func oldModel() -> PropertyListValue {
    var archive = Archive()
    func stereotype(_ name: String, _ values: [(String, PropertyListValue)]) -> PropertyListValue {
      let properties = values.map {
        ($0.0, archive.object("XDUMLPropertyImp", fields: ["_name": archive.add(.string($0.0)), "_default": $0.1]))
      }
      return archive.object(
        "XDUMLStereotypeImp",
        fields: ["_name": archive.add(.string(name)), "XDBucketForOwnedAttributesstorage": archive.table(properties)])
    }
    let entity = archive.add("$null")
    let common = stereotype("XD_PPropStereotype", [("XD_PPSK_isOptional", true)])
    let kind = stereotype(
      "XD_PAtt_Stereotype", [("XD_PAttK_attributeType", 700), ("XD_PAttK_defaultValueAsString", archive.add("x"))])
    let attribute = archive.object(
      "XDPMAttribute",
      fields: [
        "_name": archive.add("n"), "XDBucketForStereotypesstorage": archive.table([("a", common), ("b", kind)]),
      ])
    let ends = stereotype(
      "XD_PR_Stereotype",
      [("XD_PRK_destination", entity), ("XD_PRK_minCount", 1), ("XD_PRK_maxCount", 1), ("XD_PRK_deleteRule", 1)])
    let relationship = archive.object(
      "XDPMRelationship",
      fields: ["_name": archive.add("r"), "XDBucketForStereotypesstorage": archive.table([("a", ends)])])
    let own = archive.fields(
      ["XDPMEntity"],
      [
        "_name": archive.add("A"), "_isAbstract": false,
        "XDBucketForOwnedAttributesstorage": archive.table([("1", attribute), ("2", relationship)]),
        "XDBucketForStereotypesstorage": archive.table([
          ("s", stereotype("XD_PStereotype", [("XD_PSK_entityClassName", archive.add("C"))]))
        ]),
      ])
    if case .uid(let index) = entity { archive.objects[Int(index)] = own }
    let package = archive.object(
      "XDModelPackage", fields: ["XDBucketForClassesstorage": archive.table([("A", entity)])])
    let model = archive.object(
      "XDPMModel", fields: ["_xd_rootPackage": package, "_modelVersionIdentifier": archive.add("1")])
    return archive.list(root: model)
  }
}

import StoreCodecs

/// The names of elements and attributes, as one parser has them.
struct DocumentNames {
  let database, databaseInfo, version, uuid, nextObjectID, metadata, plist, object, attribute, relationship: XMLName
  let name, type, id, destination, references, valueType: XMLName

  init(_ reader: XMLReader) {
    database = reader.intern("database")
    databaseInfo = reader.intern("databaseInfo")
    version = reader.intern("version")
    uuid = reader.intern("UUID")
    nextObjectID = reader.intern("nextObjectID")
    metadata = reader.intern("metadata")
    plist = reader.intern("plist")
    object = reader.intern("object")
    attribute = reader.intern("attribute")
    relationship = reader.intern("relationship")
    name = reader.intern("name")
    type = reader.intern("type")
    id = reader.intern("id")
    destination = reader.intern("destination")
    references = reader.intern("idrefs")
    valueType = reader.intern("valuetype")
  }
}

import AtomicStoreKit
public import AtomicStoreSPI

/// The two models of the sample. `iClass.xcdatamodeld` holds the same as files.
public enum IClassModel {
  /// People in a private store, courses in a public one, relationships between them kept by the classes.
  public static let first = ModelDescription(
    versionIdentifiers: ["iClass"],
    entities: [
      EntityDescription(
        name: "Person", isAbstract: true, managedObjectClassName: "Person",
        properties: [
          .attribute(AttributeDescription(name: "name", type: .string, isOptional: false)),
          .attribute(AttributeDescription(name: "personID", type: .integer32)),
        ],
        subentities: [
          EntityDescription(
            name: "Student", managedObjectClassName: "Student",
            properties: [
              // What is stored of the relationship: the URIs, one to a line.
              .attribute(AttributeDescription(name: "courseURIs", type: .string)),
              .relationship(
                RelationshipDescription(
                  name: "courses", destinationEntityName: "Course", inverseName: "students", isTransient: true,
                  maximumCount: 0)),
            ]),
          EntityDescription(
            name: "Teacher", managedObjectClassName: "Teacher",
            properties: [
              // The teacher's own URI, for the fetch below to compare with.
              .attribute(AttributeDescription(name: "objectURI", type: .uri, isTransient: true)),
              .fetchedProperty(
                FetchedPropertyDescription(
                  name: "courses",
                  fetchRequest: FetchRequestDescription(
                    name: "courses", entityName: "Course", predicateString: "teacherURI == $FETCH_SOURCE.objectURI"))),
            ]),
        ]),
      EntityDescription(
        name: "IDGenerator", managedObjectClassName: "IDGenerator",
        properties: [
          .attribute(
            AttributeDescription(name: "mostRecentID", type: .integer32, isOptional: false, defaultValue: .integer(0)))
        ]),
      EntityDescription(
        name: "Course", managedObjectClassName: "Course",
        properties: [
          .attribute(AttributeDescription(name: "title", type: .string, isOptional: false)),
          .attribute(AttributeDescription(name: "studentURIs", type: .string)),
          .attribute(AttributeDescription(name: "teacherURI", type: .uri)),
          .relationship(
            RelationshipDescription(
              name: "students", destinationEntityName: "Student", inverseName: "courses", isTransient: true,
              maximumCount: 0)),
          .relationship(RelationshipDescription(name: "teacher", destinationEntityName: "Teacher", isTransient: true)),
        ]),
    ],
    configurations: [
      ConfigurationDescription(name: "private", entityNames: ["Person", "Student", "Teacher", "IDGenerator"]),
      ConfigurationDescription(name: "public", entityNames: ["Course"]),
    ])

  /// The second variant: proxies stand in each store for the objects of the other, so that either can be used alone.
  public static let second = ModelDescription(
    versionIdentifiers: ["iClassV2"],
    entities: [
      EntityDescription(
        name: "Person", isAbstract: true,
        properties: [.attribute(AttributeDescription(name: "name", type: .string, isOptional: false))],
        subentities: [
          EntityDescription(
            name: "Student", managedObjectClassName: "ProxiedStudent",
            properties: [
              .relationship(
                RelationshipDescription(
                  name: "courseProxies", destinationEntityName: "CourseProxy", inverseName: "students", maximumCount: 0)
              )
            ]),
          EntityDescription(
            name: "Teacher", managedObjectClassName: "ProxiedTeacher",
            properties: [
              .relationship(
                RelationshipDescription(
                  name: "courseProxies", destinationEntityName: "CourseProxy", inverseName: "teacher", maximumCount: 0))
            ]),
        ]),
      // In the private store, for a course.
      EntityDescription(
        name: "CourseProxy", managedObjectClassName: "CourseProxy",
        properties: [
          .attribute(AttributeDescription(name: "uri", type: .uri, isOptional: false)),
          // What can be shown while the course itself is not at hand.
          .attribute(AttributeDescription(name: "title", type: .string)),
          .relationship(
            RelationshipDescription(
              name: "students", destinationEntityName: "Student", inverseName: "courseProxies", maximumCount: 0)),
          .relationship(
            RelationshipDescription(name: "teacher", destinationEntityName: "Teacher", inverseName: "courseProxies")),
        ]),
      EntityDescription(
        name: "Course", managedObjectClassName: "ProxiedCourse",
        properties: [
          .attribute(AttributeDescription(name: "title", type: .string, isOptional: false)),
          .relationship(
            RelationshipDescription(
              name: "studentProxies", destinationEntityName: "PersonProxy", inverseName: "courses", maximumCount: 0)),
          .relationship(
            RelationshipDescription(
              name: "teacherProxy", destinationEntityName: "PersonProxy", inverseName: "taughtCourses")),
        ]),
      // In the public store, for a person.
      EntityDescription(
        name: "PersonProxy", managedObjectClassName: "PersonProxy",
        properties: [
          .attribute(AttributeDescription(name: "uri", type: .uri, isOptional: false)),
          .attribute(AttributeDescription(name: "name", type: .string)),
          .relationship(
            RelationshipDescription(
              name: "courses", destinationEntityName: "Course", inverseName: "studentProxies", maximumCount: 0)),
          .relationship(
            RelationshipDescription(
              name: "taughtCourses", destinationEntityName: "Course", inverseName: "teacherProxy", maximumCount: 0)),
        ]),
    ],
    configurations: [
      ConfigurationDescription(name: "private", entityNames: ["Person", "Student", "Teacher", "CourseProxy"]),
      ConfigurationDescription(name: "public", entityNames: ["Course", "PersonProxy"]),
    ])
}

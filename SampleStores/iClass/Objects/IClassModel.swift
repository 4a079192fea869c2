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
          .attribute("name", .string, isOptional: false),
          .attribute("personID", .integer32),
        ],
        subentities: [
          EntityDescription(
            name: "Student", managedObjectClassName: "Student",
            properties: [
              // What is stored of the relationship: the URIs, one to a line.
              .attribute("courseURIs", .string),
              .toMany("courses", "Course", inverse: "students", isTransient: true),
            ]),
          EntityDescription(
            name: "Teacher", managedObjectClassName: "Teacher",
            properties: [
              // The teacher's own URI, for the fetch below to compare with.
              .attribute("objectURI", .uri, isTransient: true),
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
          .attribute("mostRecentID", .integer32, isOptional: false, defaultValue: .integer(0))
        ]),
      EntityDescription(
        name: "Course", managedObjectClassName: "Course",
        properties: [
          .attribute("title", .string, isOptional: false),
          .attribute("studentURIs", .string),
          .attribute("teacherURI", .uri),
          .toMany("students", "Student", inverse: "courses", isTransient: true),
          .toOne("teacher", "Teacher", isTransient: true),
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
        properties: [.attribute("name", .string, isOptional: false)],
        subentities: [
          EntityDescription(
            name: "Student", managedObjectClassName: "ProxiedStudent",
            properties: [
              .toMany("courseProxies", "CourseProxy", inverse: "students")
            ]),
          EntityDescription(
            name: "Teacher", managedObjectClassName: "ProxiedTeacher",
            properties: [
              .toMany("courseProxies", "CourseProxy", inverse: "teacher")
            ]),
        ]),
      // In the private store, for a course.
      EntityDescription(
        name: "CourseProxy", managedObjectClassName: "CourseProxy",
        properties: [
          .attribute("uri", .uri, isOptional: false),
          // What can be shown while the course itself is not at hand.
          .attribute("title", .string),
          .toMany("students", "Student", inverse: "courseProxies"),
          .toOne("teacher", "Teacher", inverse: "courseProxies"),
        ]),
      EntityDescription(
        name: "Course", managedObjectClassName: "ProxiedCourse",
        properties: [
          .attribute("title", .string, isOptional: false),
          .toMany("studentProxies", "PersonProxy", inverse: "courses"),
          .toOne("teacherProxy", "PersonProxy", inverse: "taughtCourses"),
        ]),
      // In the public store, for a person.
      EntityDescription(
        name: "PersonProxy", managedObjectClassName: "PersonProxy",
        properties: [
          .attribute("uri", .uri, isOptional: false),
          .attribute("name", .string),
          .toMany("courses", "Course", inverse: "studentProxies"),
          .toMany("taughtCourses", "Course", inverse: "teacherProxy"),
        ]),
    ],
    configurations: [
      ConfigurationDescription(name: "private", entityNames: ["Person", "Student", "Teacher", "CourseProxy"]),
      ConfigurationDescription(name: "public", entityNames: ["Course", "PersonProxy"]),
    ])
}

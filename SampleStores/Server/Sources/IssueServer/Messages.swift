import Hummingbird
import StoreContainers

/// An issue, as a client sends it.
public struct NewIssue: Codable, Sendable {
  public var title: String
  public var hours: Int?

  public init(title: String, hours: Int? = nil) {
    self.title = title
    self.hours = hours
  }
}

/// What a client changes of an issue.
public struct IssueChange: Codable, Sendable {
  public var isOpen: Bool

  public init(isOpen: Bool) { self.isOpen = isOpen }
}

/// An issue, as the server returns it.
public struct IssueMessage: ResponseCodable, Sendable, Equatable {
  public var project: String
  public var number: Int
  public var title: String
  public var isOpen: Bool
  public var hours: Int

  init(_ issue: Issue) {
    project = issue.project?.name ?? ""
    number = issue.number
    title = issue.title
    isOpen = issue.isOpen
    hours = issue.hours
  }
}

/// A project with its counts, as the server returns it.
public struct ProjectMessage: ResponseCodable, Sendable, Equatable {
  public var name: String
  public var lastNumber: Int
  public var openCount: Int
  public var hours: Int

  init(_ project: Project) {
    name = project.name
    lastNumber = project.lastNumber
    openCount = project.openCount
    hours = project.hours
  }
}

/// Whether the server can read its store.
public struct Health: ResponseCodable, Sendable {
  public var status: String
  public var issues: Int
}

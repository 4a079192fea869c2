import AtomicStoreKit
import AtomicStoreSPI
import Testing

@Suite("Undo of a program's own actions") struct UndoActionTests {
  /// Something outside the context that a program changes with it.
  private final class View {
    let history: UndoHistory
    var zoom = 1
    init(_ history: UndoHistory) { self.history = history }

    func setZoom(_ new: Int) {
      let old = zoom
      history.registerUndo(withTarget: self) { $0.setZoom(old) }
      zoom = new
    }
  }

  private func stack() throws -> (Stack, UndoHistory) {
    let stack = try Stack()
    let history = UndoHistory()
    stack.context.undoManager = history
    return (stack, history)
  }

  @Test("an action is undone and redone, as often as wanted")
  func action() throws {
    let (stack, history) = try stack()
    let view = View(history)
    view.setZoom(2)
    stack.context.processPendingChanges()
    view.setZoom(3)
    for _ in 0..<3 {
      history.undo()
      #expect(view.zoom == 2)
      history.undo()
      #expect(view.zoom == 1)
      #expect(!history.canUndo)
      history.redo()
      history.redo()
      #expect(view.zoom == 3)
      #expect(!history.canRedo)
    }
  }

  @Test("it is undone in one group with changes of objects, in order")
  func mixed() throws {
    let (stack, history) = try stack()
    let ada = try stack.insert("Person", ["name": "Ada"])
    stack.context.processPendingChanges()
    history.removeAllActions()
    let view = View(history)
    var seen: [String?] = []
    try ada.setValue("Eve", forKey: "name")
    history.registerUndo { seen.append(ada["name"] as? String) }
    try ada.setValue("Fay", forKey: "name")
    view.setZoom(2)
    history.undo()
    #expect(seen == ["Eve"])
    #expect(ada["name"] as? String == "Ada" && view.zoom == 1)
    history.redo()
    #expect(ada["name"] as? String == "Fay" && view.zoom == 2)
  }

  @Test("what an action changes in the context is redone")
  func changesObjects() throws {
    let (stack, history) = try stack()
    let dev = try stack.insert("Department", ["name": "Dev"])
    let ada = try stack.insert("Person", ["name": "Ada", "department": dev])
    stack.context.processPendingChanges()
    history.removeAllActions()
    history.registerUndo {
      ada["name"] = "Eve"
      stack.context.delete(dev)
    }
    stack.context.processPendingChanges()
    history.undo()
    #expect(ada["name"] as? String == "Eve" && ada["department"] == nil)
    history.redo()
    #expect(ada["name"] as? String == "Ada" && ada["department"] as? ManagedObject === dev)
    history.undo()
    #expect(ada["name"] as? String == "Eve" && ada["department"] == nil)
  }

  @Test(
    "a new action clears what could be redone; one whose target is gone does nothing; none is recorded while disabled")
  func edges() throws {
    let (stack, history) = try stack()
    var view: View? = View(history)
    view?.setZoom(2)
    history.undo()
    #expect(history.canRedo)
    view?.setZoom(5)
    stack.context.processPendingChanges()
    #expect(!history.canRedo)
    view = nil
    history.undo()
    #expect(!history.canUndo)
    history.removeAllActions()
    history.disableUndoRegistration()
    history.registerUndo {}
    history.enableUndoRegistration()
    #expect(!history.canUndo)
  }
}

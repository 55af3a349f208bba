import HTTPTypes

extension HTTPFields {
  /// The field with this name; setting it has no effect if `name` isn't valid.
  subscript(name: String) -> String? {
    get { HTTPField.Name(name).flatMap { self[$0] } }
    set {
      if let name = HTTPField.Name(name) { self[name] = newValue }
    }
  }
}

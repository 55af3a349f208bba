import HTTPTypes

extension HTTPFields {
  /// The field of this name; setting it does nothing if `name` is no name of a field.
  subscript(name: String) -> String? {
    get { HTTPField.Name(name).flatMap { self[$0] } }
    set {
      if let name = HTTPField.Name(name) { self[name] = newValue }
    }
  }
}

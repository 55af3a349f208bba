extension Registry {
  /// Returns all libraries that are compared, in the order of the columns.
  ///
  /// To add a library, write `Peers/<Library>.swift` with a function like these, and call it here.
  static func everything() -> Registry {
    var registry = Registry()
    addPledge(to: &registry)
    addPromiseKitDropIn(to: &registry)
    addPromisesDropIn(to: &registry)
    addGCD(to: &registry)
    addGroupHops(to: &registry)
    addClosures(to: &registry)
    addNIOLoop(to: &registry)
    addNIOEmbedded(to: &registry)
    addSwiftConcurrency(to: &registry)
    addPolicies(to: &registry)
    addPoliciesByHand(to: &registry)
    return registry
  }
}

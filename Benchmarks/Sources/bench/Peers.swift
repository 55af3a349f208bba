extension Registry {
  /// Returns all libraries that are compared, in the order of the columns.
  ///
  /// To add a library, write `Peers/<Library>.swift` with a function like these, and call it here.
  static func everything() -> Registry {
    var registry = Registry()
    addPledge(to: &registry)
    #if Peers
      addPromiseKitDropIn(to: &registry)
      addPromisesDropIn(to: &registry)
    #endif
    addGCD(to: &registry)
    addGroupHops(to: &registry)
    addClosures(to: &registry)
    #if Peers
      addNIOLoop(to: &registry)
      addNIOEmbedded(to: &registry)
    #endif
    addSwiftConcurrency(to: &registry)
    addPolicies(to: &registry)
    addPoliciesByHand(to: &registry)
    return registry
  }
}

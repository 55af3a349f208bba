/// The programs that a correct library passes, by topic.
let libraryPrograms =
  settlingPrograms + cancellingPrograms + adoptingPrograms + longLivedPrograms
  + combiningPrograms + policyPrograms + timingPrograms + runningPrograms + awaitingPrograms
  + poolPrograms + pairPrograms

let allPrograms = libraryPrograms + selfTests + poolSelfTests + staleSelfTests

/// All programs, by topic.
let allPrograms = settlingPrograms

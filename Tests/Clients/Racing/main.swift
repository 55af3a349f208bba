import Pledge

// Must not compile: these handlers run concurrently with the code that wrote them.

final class Model {
  var count = 0
}

@MainActor var title = ""

func nonisolatedCapture(_ model: Model) {
  Promise.value(1).done { number in model.count += number }.cauterize()
}

func mutatedVariable() {
  var sum = 0
  Promise.value(1).done { number in sum += number }.cauterize()
}

func mainActorState() {
  Promise.value(1).done { number in title = "\(number)" }.cauterize()
}

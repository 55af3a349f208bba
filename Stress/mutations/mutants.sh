# The mutants: a name, a file, and an edit of it (a Perl substitution over the whole file). An edit
# names what it changes by its text, not by its line, and check.sh notices when it changes nothing.
mutants=(
  'lost-observer Sources/Pledge/Engine/Observers.swift s/batch = Output\.pointer\(late\)\.flatMap \{ HandlerList\.oldestFirst\(\$0\) \}/batch = nil/'
  'double-run Sources/Pledge/Operators/Finally.swift s/try handler\.takeBody\(as: \(\@Sendable \(\) throws -> Void\)\.self\)\(\)/let body = handler.takeBody(as: (\@Sendable () throws -> Void).self)\ntry body()\ntry body()/'
  'wrong-order Sources/Pledge/Engine/Observers.swift s/var batch = HandlerList\.oldestFirst\(list\)/var batch: HandlerList.Node? = .fromOpaque(list)/'
  'settles-twice Sources/Pledge/Engine/Cell.swift s/if word & \(Output\.claimed \| Output\.settled\) != 0 \{ return (nil|\.lost) \}/if word & Output.claimed != 0 { return $1 }/'
  'leak Sources/Pledge/Engine/Observers.swift s/let handler = node\.takeRetainedValue\(\)/let handler = node.takeUnretainedValue()/'
  'lost-cancel Sources/Pledge/Engine/Adoption.swift s/inner\.cancelIfDeserted\(\)\n//'
  'deaf-adopter Sources/Pledge/Engine/Adoption.swift s/let outer = root\n/let outer = root\ninput.bitwiseAnd(~Input.cancelled, ordering: .relaxed)\n/'
  'wrong-place Sources/Pledge/Engine/Observers.swift s/unsafeDowncast\(target, to: Scheduler\.self\)\.enqueue\(handler\)/Trampoline.perform(handler, state, isOwned: false)/'
  'wrong-queue Sources/Pledge/Executors/Turn.swift s/queue\.async \{ run\(handler\) \}/DispatchQueue.global().async { run(handler) }/'
  'kept-timer Sources/Pledge/Time/Timeout.swift s/handler\.takeBody\(as: \(\@Sendable \(\) -> Void\)\.self\)\(\)\n//'
)

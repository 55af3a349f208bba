import CExplorer
import Exploration
import Glibc
import Pledge

explorer_fix_addresses(CommandLine.unsafeArgv)

let request: Request
switch Request.parse(Array(CommandLine.arguments.dropFirst())) {
case .success(let parsed): request = parsed
case .failure(let usage):
  print(usage.text)
  exit(64)
}

if request.programs.count == 1 {
  exit(explore(request.programs[0], request) ? 0 : 1)
}
exit(exploreAll(request) ? 0 : 1)

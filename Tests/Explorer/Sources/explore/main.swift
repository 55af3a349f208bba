import CExplorer
import Exploration
import Glibc
import Pledge

explorer_fix_addresses(CommandLine.unsafeArgv)

let request: Request
do throws(Request.Usage) {
  request = try Request.parse(Array(CommandLine.arguments.dropFirst()))
} catch {
  print(error.text)
  exit(64)
}

if request.programs.count == 1 { exit(explore(request.programs[0], request) ? 0 : 1) }
exit(exploreAll(request) ? 0 : 1)

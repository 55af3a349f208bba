// What all files of this target import.
@_exported import Foundation
@_exported import Pledge
@_exported import PledgeTesting
@_exported import Testing

struct Boom: Error, Hashable { var code = 0 }
struct OtherError: Error {}

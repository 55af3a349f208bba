import VirtualPlatform

package typealias Mutex<Value: ~Copyable> = VirtualPlatform.Mutex<Value>

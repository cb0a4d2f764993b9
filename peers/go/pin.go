// Binds the whole process to cores. It must never change anything else of the process.

package main

import (
	"os"
	"runtime"
	"syscall"
	"unsafe"
)

// cpuMask is the kernel's affinity mask for cores 0 to 1023.
type cpuMask [16]uint64

// pin returns in a process of which every thread is bound to cores. Affinity belongs to a thread and the runtime has
// several by now, so pin binds its own and executes the program again: the new one inherits the mask from its first
// thread on.
func pin(cores []int) {
	var wanted, current cpuMask
	for _, core := range cores {
		wanted[core/64] |= 1 << (core % 64)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if affinity(syscall.SYS_SCHED_GETAFFINITY, &current) == 0 && current == wanted {
		return
	}
	for _, core := range cores {
		// One by one first: of a set the kernel silently drops the cores that do not exist.
		only := cpuMask{}
		only[core/64] = 1 << (core % 64)
		if errno := affinity(syscall.SYS_SCHED_SETAFFINITY, &only); errno != 0 {
			fail(2, "--cores %d: cannot run on it: %v; cores here: /sys/devices/system/cpu/online", core, errno)
		}
	}
	if errno := affinity(syscall.SYS_SCHED_SETAFFINITY, &wanted); errno != 0 {
		fail(2, "--cores %v: %v", cores, errno)
	}
	program, err := os.Executable()
	if err == nil {
		err = syscall.Exec(program, os.Args, os.Environ())
	}
	fail(1, "cannot start again on cores %v: %v", cores, err)
}

// affinity gets or sets the calling thread's mask.
func affinity(call uintptr, mask *cpuMask) syscall.Errno {
	_, _, errno := syscall.RawSyscall(call, 0, unsafe.Sizeof(*mask), uintptr(unsafe.Pointer(mask)))
	return errno
}

// TCP echo in Go: one goroutine a connection, on the runtime's own network poller.
// It must stay what a Go programmer would write: the standard library and blocking calls.
package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"syscall"
	"time"
)

func main() {
	options := parse(os.Args[1:])
	pin(options.cores)
	runtime.GOMAXPROCS(len(options.cores))
	listener := listen(options.listen)
	fmt.Fprintf(os.Stderr, "go: listening on %v, cores %v\n", listener.Addr(), options.cores)
	if options.http {
		serveHTTP(listener)
	}
	var delay time.Duration
	for {
		conn, err := listener.Accept()
		if err != nil {
			// Out of descriptors, most likely: as in net/http, wait longer each time, up to a second.
			delay = min(max(2*delay, 5*time.Millisecond), time.Second)
			time.Sleep(delay)
			continue
		}
		delay = 0
		go serve(conn, options)
	}
}

// listen opens the listener or ends the process. The backlog is net.core.somaxconn, the descriptor limit the hard one and
// TCP_NODELAY on: all of them Go's defaults.
func listen(address string) net.Listener {
	// The kernel takes an io_uring apart after its process has ended, and the listener it held with it: for some
	// milliseconds the port of a server just stopped is in use by nobody.
	deadline := time.Now().Add(time.Second)
	for {
		listener, err := net.Listen("tcp", address)
		if err == nil {
			return listener
		}
		if !errors.Is(err, syscall.EADDRINUSE) || time.Now().After(deadline) {
			fail(1, "cannot listen on %s: %v", address, err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// serve sends back what arrives, unless it is to answer nothing. No io.Copy: between two sockets it splices through a pipe, which costs small messages
// more than the copy it saves.
func serve(conn net.Conn, options options) {
	defer conn.Close()
	buffer := make([]byte, options.buffer)
	for {
		count, err := conn.Read(buffer)
		if err != nil {
			return
		}
		if options.mute {
			continue
		}
		options.work.do()
		if _, err := conn.Write(buffer[:count]); err != nil {
			return
		}
	}
}

// fail ends the process with one line: 1 for what the host refuses, 2 for a flag that cannot be honoured.
func fail(status int, format string, values ...any) {
	fmt.Fprintf(os.Stderr, "go: "+format+"\n", values...)
	os.Exit(status)
}

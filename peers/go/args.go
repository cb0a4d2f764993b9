// The command line, the same as that of the peers in Rust (common/args.rs).
// It must never start work: it returns checked options or ends the process.

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/bits"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
)

// options is what the peer was asked to do.
type options struct {
	listen string
	cores  []int // ascending, no duplicates, at least one
	buffer int   // bytes of a connection's read buffer: longer than a message
	http   bool  // answer HTTP instead of echoing
	mute   bool  // answer nothing
	work   work  // before each answer of the echo
}

func parse(words []string) options {
	flags := flag.NewFlagSet("go", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // One line on an error, not the whole usage.
	listen := flags.String("listen", "", "`ADDRESS:PORT` where to accept connections")
	cores := flags.String("cores", "", "`LIST` of cores to run on, such as 1 or 0,2-3")
	buffer := flags.String("buffer", "16384", "`SIZE` of a connection's read buffer, in B or KiB")
	message := flags.String("message", "0", "`SIZE` of the messages to come; smaller buffers are enlarged to hold one")
	http := flags.Bool("http", false, "answer every HTTP request with a short text, by net/http")
	mute := flags.Bool("discard", false, "read and answer nothing")
	work := flags.String("work", "none", "`WORK` before each echo: none, sleep:10ms or sha256:12")
	err := flags.Parse(words)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Println("go: a TCP server that sends back whatever arrives")
		flags.SetOutput(os.Stdout)
		flags.PrintDefaults()
		os.Exit(0)
	case err != nil:
		fail(2, "%v; see go --help", err)
	case flags.NArg() > 0:
		fail(2, "unknown argument '%s'; see go --help", flags.Arg(0))
	case *listen == "" || *cores == "":
		fail(2, "--listen ADDRESS:PORT and --cores LIST are both needed; see go --help")
	}
	if _, err := netip.ParseAddrPort(*listen); err != nil {
		fail(2, "--listen '%s' is not ADDRESS:PORT such as 127.0.0.1:7101", *listen)
	}
	size := bytes("--buffer", *buffer)
	if *message != "0" {
		// The next power of two above the message, as in common/args.rs.
		size = max(size, 1<<bits.Len(uint(bytes("--message", *message))))
	}
	return options{*listen, coreList(*cores), size, *http, *mute, parseWork(*work)}
}

// coreList reads "1" or "0,2-3".
func coreList(list string) []int {
	var cores []int
	for _, part := range strings.Split(list, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		first, firstErr := strconv.ParseUint(from, 10, 16)
		last, lastErr := strconv.ParseUint(to, 10, 16)
		if firstErr != nil || lastErr != nil || first > last || last >= 64*uint64(len(cpuMask{})) {
			fail(2, "--cores '%s' is not a list such as 1 or 0,2-3 (cores 0 to 1023)", list)
		}
		for core := first; core <= last; core++ {
			cores = append(cores, int(core))
		}
	}
	slices.Sort(cores)
	return slices.Compact(cores)
}

// bytes reads the value of a flag: "2048", "2048B" or "2KiB", from 1 B to 1 MiB.
func bytes(name, size string) int {
	unit := 1
	digits, isKiB := strings.CutSuffix(size, "KiB")
	if isKiB {
		unit = 1024
	} else {
		digits = strings.TrimSuffix(size, "B")
	}
	count, err := strconv.ParseUint(digits, 10, 21)
	if total := int(count) * unit; err == nil && total >= 1 && total <= 1<<20 {
		return total
	}
	fail(2, "%s '%s' is not a size from 1B to 1024KiB", name, size)
	return 0
}

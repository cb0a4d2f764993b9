// Work before each answer, as `brunt serve echo --work` does it.

package main

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"strconv"
	"strings"
	"time"
)

// work is what a request costs beyond its bytes; at most one of the two is set.
type work struct {
	sleep time.Duration
	zeros int // leading zero bits of the hash to find
}

// most is the longest sleep, and mostZeros the most zero bits: three million hashes.
const (
	most      = 10 * time.Second
	mostZeros = 24
)

// parseWork reads none, sleep:10ms or sha256:12.
func parseWork(text string) work {
	kind, value, _ := strings.Cut(text, ":")
	switch kind {
	case "none":
		if value == "" {
			return work{}
		}
	case "sleep":
		if time, err := time.ParseDuration(value); err == nil && time > 0 && time <= most {
			return work{sleep: time}
		}
	case "sha256":
		if zeros, err := strconv.Atoi(value); err == nil && zeros >= 1 && zeros <= mostZeros {
			return work{zeros: zeros}
		}
	}
	fail(2, "--work '%s' is not none, sleep:10ms (at most %v) or sha256:12 (at most %d bits)", text, most, mostZeros)
	return work{}
}

func (w work) do() {
	if w.sleep > 0 {
		time.Sleep(w.sleep)
	}
	if w.zeros > 0 {
		proof(w.zeros)
	}
}

// proof returns the first number n for which SHA-256 of "hello world n" has so many leading zero bits.
func proof(zeros int) uint64 {
	text := make([]byte, 0, 32)
	for number := uint64(0); ; number++ {
		text = strconv.AppendUint(append(text[:0], "hello world "...), number, 10)
		digest := sha256.Sum256(text)
		if bits.LeadingZeros64(binary.BigEndian.Uint64(digest[:])) >= zeros {
			return number
		}
	}
}

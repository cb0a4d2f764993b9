package main

import "testing"

// The numbers are those that Python's hashlib finds.
func TestProof(t *testing.T) {
	for zeros, want := range map[int]uint64{1: 0, 3: 1, 12: 4, 13: 6482, 14: 10277, 16: 24364} {
		if found := proof(zeros); found != want {
			t.Errorf("%d bits: found %d, want %d", zeros, found, want)
		}
	}
}

// Verdicts of Go's net/http on requests: a line of hex in, a verdict out. See h11_parser.py for the verdicts.
package main

import (
	"bufio"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"
)

var refusal = regexp.MustCompile(`HTTP/1\.[01] [45]\d\d `)

type notes struct {
	sync.Mutex
	bodies         []string
	open, refused  bool
}

func main() {
	log.SetOutput(io.Discard)
	var seen *notes
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		seen.Lock()
		defer seen.Unlock()
		switch {
		case err == nil:
			seen.bodies = append(seen.bodies, hex.EncodeToString(body))
		case errors.Is(err, io.ErrUnexpectedEOF):
			seen.open = true
		default:
			seen.refused = true
		}
	})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	server := &http.Server{Handler: handler, ErrorLog: log.Default()}
	go server.Serve(listener)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		seen = &notes{}
		fmt.Println(verdict(listener.Addr().String(), lines.Text(), seen))
	}
}

func verdict(address, line string, seen *notes) string {
	data, err := hex.DecodeString(line)
	if err != nil {
		return "bad hex"
	}
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return err.Error()
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(5 * time.Second))
	conn.Write(data)
	conn.(*net.TCPConn).CloseWrite()
	answer, _ := io.ReadAll(conn)
	seen.Lock()
	defer seen.Unlock()
	switch {
	case seen.refused || refusal.Match(answer):
		return "R"
	case seen.open || len(seen.bodies) == 0:
		return "W"
	}
	return "T " + strings.Join(seen.bodies, ",")
}

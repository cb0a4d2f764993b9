// With --http: the server of Go's net/http, which answers every request with the same short text.
// It must stay what a Go programmer would write: a handler, and nothing tuned.

package main

import (
	"net"
	"net/http"
)

func serveHTTP(listener net.Listener) {
	body := []byte("Hi, there!\n")
	answer := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		// A client that has gone is not this server's concern.
		_, _ = w.Write(body)
	}
	server := http.Server{Handler: http.HandlerFunc(answer)}
	fail(1, "%v", server.Serve(listener))
}

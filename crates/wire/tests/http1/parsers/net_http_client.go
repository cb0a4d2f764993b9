// What the client of Go's net/http reads in replies: a line with a method and hex in, a verdict out. See h11_client.py.
package main

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 8<<20)
	for lines.Scan() {
		method, text, _ := strings.Cut(lines.Text(), " ")
		fmt.Println(verdict(method, text))
	}
}

func verdict(method, text string) string {
	data, err := hex.DecodeString(text)
	if err != nil {
		return err.Error()
	}
	input := bufio.NewReader(bytes.NewReader(data))
	for {
		response, err := http.ReadResponse(input, &http.Request{Method: method})
		if err != nil {
			return "R"
		}
		if response.StatusCode < 200 && response.StatusCode != 101 {
			continue
		}
		body, err := io.ReadAll(response.Body)
		if err != nil {
			return "R"
		}
		return fmt.Sprintf("T %d %s", response.StatusCode, hex.EncodeToString(body))
	}
}

// Reads a report with vegeta's own types, which must know every key, and prints it as `vegeta report` does.
package main

import (
	"encoding/json"
	"log"
	"os"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

func main() {
	var metrics vegeta.Metrics
	input := json.NewDecoder(os.Stdin)
	input.DisallowUnknownFields()
	if err := input.Decode(&metrics); err != nil {
		log.Fatal(err)
	}
	if err := vegeta.NewTextReporter(&metrics).Report(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

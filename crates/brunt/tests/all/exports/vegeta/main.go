// Reads with vegeta's own types: a report, which must have no key that they do not know, and prints it as `vegeta report` does;
// or, with the argument json or http, targets of that format, and prints them as JSON.
package main

import (
	"encoding/json"
	"log"
	"os"

	vegeta "github.com/tsenart/vegeta/v12/lib"
)

func main() {
	if len(os.Args) > 1 {
		printTargets(os.Args[1])
		return
	}
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

func printTargets(format string) {
	targeter := vegeta.NewHTTPTargeter(os.Stdin, nil, nil)
	if format == "json" {
		targeter = vegeta.NewJSONTargeter(os.Stdin, nil, nil)
	}
	targets, err := vegeta.ReadAllTargets(targeter)
	if err != nil {
		log.Fatal(err)
	}
	encode := vegeta.NewJSONTargetEncoder(os.Stdout)
	for i := range targets {
		if err := encode(&targets[i]); err != nil {
			log.Fatal(err)
		}
	}
}

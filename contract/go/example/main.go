// Command example reads a bootstrap document in JSON, validates it with the published JSON Schema, and prints what a
// controller would want to know of it:
//
//	go run . ../../schema/v1alpha1.json <document.json
//
// The schema cannot say everything: machineadm validate judges what is left, such as references to secrets.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/xeipuuv/gojsonschema"
	"machineadm.dev/contract/go/v1alpha1"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: example SCHEMA <DOCUMENT")
		os.Exit(2)
	}
	document, err := read(os.Args[1], os.Stdin)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%v\n", err)
		os.Exit(1)
	}
	role := "none"
	if document.Kubernetes != nil {
		role = document.Kubernetes.Role
	}
	fmt.Printf("name=%s role=%s\n", document.Metadata.Name, role)
}

// read gives the document, or an error that names every field that the schema refuses.
func read(schemaFile string, from io.Reader) (*v1alpha1.MachineBootstrap, error) {
	published, err := os.ReadFile(schemaFile)
	if err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	loader := gojsonschema.NewSchemaLoader()
	// It knows no draft after 7; the schema uses nothing that draft 7 does not have, but for the name of $defs.
	loader.AutoDetect = false
	loader.Draft = gojsonschema.Draft7
	schema, err := loader.Compile(gojsonschema.NewBytesLoader(published))
	if err != nil {
		return nil, fmt.Errorf("compile the schema: %w", err)
	}
	text, err := io.ReadAll(from)
	if err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	result, err := schema.Validate(gojsonschema.NewBytesLoader(text))
	if err != nil {
		return nil, fmt.Errorf("parse the document: %w", err)
	}
	if !result.Valid() {
		problems := make([]string, 0, len(result.Errors()))
		for _, problem := range result.Errors() {
			problems = append(problems, problem.String())
		}
		return nil, errors.New(strings.Join(problems, "\n"))
	}
	var document v1alpha1.MachineBootstrap
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("decode the document: %w", err)
	}
	return &document, nil
}

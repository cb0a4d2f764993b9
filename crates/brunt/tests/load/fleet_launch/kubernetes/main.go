// Reads a manifest of Kubernetes as an API server does: each key must be one of its kind, names, labels and quantities
// must be valid, and what refers to another part must find it. Prints as JSON what the kubelets would start: of each pod the arguments
// of its container, with its variables, and which secrets are mounted where.
package main

import (
	"bufio"
	"bytes"
	encoding "encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"regexp"
	"strconv"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	labels "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	selectors "k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/yaml"
)

const index = "metadata.annotations['batch.kubernetes.io/job-completion-index']"

// Pod is what a kubelet starts.
type Pod struct {
	Image  string            `json:"image"`
	Args   []string          `json:"args"`
	Mounts map[string]string `json:"mounts"`
	// Bits of the files of a secret, as its user and its group have them.
	Modes map[string]int32 `json:"modes"`
}

func main() {
	documents := yaml.NewYAMLReader(bufio.NewReader(os.Stdin))
	pods := []Pod{}
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		check(err)
		if len(bytes.TrimSpace(document)) > 0 {
			pods = append(pods, read(document)...)
		}
	}
	check(encoding.NewEncoder(os.Stdout).Encode(pods))
}

// As an API server does that refuses unknown fields.
func read(document []byte) []Pod {
	kinds := runtime.NewScheme()
	check(batch.AddToScheme(kinds))
	check(core.AddToScheme(kinds))
	decoder := json.NewSerializerWithOptions(json.DefaultMetaFactory, kinds, kinds, json.SerializerOptions{Yaml: true, Strict: true})
	object, _, err := decoder.Decode(document, nil, nil)
	check(err)
	switch object := object.(type) {
	case *batch.Job:
		return pods(object)
	case *core.Secret:
		valid("name", validation.IsDNS1123Subdomain(object.Name))
	default:
		log.Fatalf("no kind that is expected: %T", object)
	}
	return nil
}

// Those of an Indexed Job.
func pods(job *batch.Job) []Pod {
	spec, template := job.Spec, job.Spec.Template
	if spec.CompletionMode == nil || *spec.CompletionMode != batch.IndexedCompletion || spec.Completions == nil || *spec.Completions < 1 {
		log.Fatal("the job is not indexed")
	}
	completions := int(*spec.Completions)
	if spec.Parallelism == nil || int(*spec.Parallelism) != completions {
		log.Fatal("not all of its pods run at once")
	}
	// Pods have the name of the job with their index as a host name.
	valid("name of the last pod", validation.IsDNS1123Label(job.Name+"-"+strconv.Itoa(completions-1)))
	valid("labels", texts(labels.ValidateLabels(template.Labels, field.NewPath("labels"))))
	if template.Spec.RestartPolicy != core.RestartPolicyNever || *spec.BackoffLimit != 0 || *spec.PodReplacementPolicy != batch.Failed {
		log.Fatal("a pod that has ended may be started again")
	}
	if *spec.ActiveDeadlineSeconds < 1 || *spec.TTLSecondsAfterFinished < 0 {
		log.Fatal("a time below 1 s")
	}
	for _, constraint := range template.Spec.TopologySpreadConstraints {
		selector, err := meta.LabelSelectorAsSelector(constraint.LabelSelector)
		check(err)
		if !selector.Matches(selectors.Set(template.Labels)) || constraint.MaxSkew < 1 {
			log.Fatal("the pods are not those that are spread")
		}
	}
	if len(template.Spec.Containers) != 1 {
		log.Fatal("a pod has one container")
	}
	container := template.Spec.Containers[0]
	valid("container", validation.IsDNS1123Label(container.Name))
	cpu, limit := container.Resources.Requests.Cpu(), container.Resources.Limits.Cpu()
	if cpu.Sign() <= 0 || cpu.Cmp(*limit) != 0 {
		log.Fatal("cores: ", cpu, limit)
	}
	mounts, modes := secrets(&template.Spec, &container)
	var all []Pod
	for number := range completions {
		all = append(all, Pod{Image: container.Image, Args: expanded(&container, number), Mounts: mounts, Modes: modes})
	}
	return all
}

// The secrets that are mounted, by their places.
func secrets(pod *core.PodSpec, container *core.Container) (map[string]string, map[string]int32) {
	mounts, modes := map[string]string{}, map[string]int32{}
	for _, mount := range container.VolumeMounts {
		found := false
		for _, volume := range pod.Volumes {
			if volume.Name == mount.Name && volume.Secret != nil {
				valid("secret", validation.IsDNS1123Subdomain(volume.Secret.SecretName))
				mode := *volume.Secret.DefaultMode
				if pod.SecurityContext != nil && pod.SecurityContext.FSGroup != nil {
					// As the kubelet does for volumes that are only read.
					mode |= 0o440
				}
				mounts[mount.MountPath], modes[mount.MountPath], found = volume.Secret.SecretName, mode, true
			}
		}
		if !found {
			log.Fatalf("no volume %q", mount.Name)
		}
	}
	return mounts, modes
}

// The arguments of the container of a pod.
func expanded(container *core.Container, number int) []string {
	values := map[string]string{}
	for _, variable := range container.Env {
		valid("variable", validation.IsEnvVarName(variable.Name))
		if variable.ValueFrom == nil || variable.ValueFrom.FieldRef == nil || variable.ValueFrom.FieldRef.FieldPath != index {
			log.Fatalf("%s is not the index", variable.Name)
		}
		values[variable.Name] = strconv.Itoa(number)
	}
	reference := regexp.MustCompile(`\$\(([^)]*)\)`)
	args := []string{}
	for _, arg := range container.Args {
		args = append(args, reference.ReplaceAllStringFunc(arg, func(text string) string {
			value, found := values[text[2:len(text)-1]]
			if !found {
				log.Fatalf("no variable %s", text)
			}
			return value
		}))
	}
	return args
}

func valid(what string, errors []string) {
	if len(errors) > 0 {
		log.Fatalf("%s: %v", what, errors)
	}
}

func texts(errors field.ErrorList) (all []string) {
	for _, err := range errors {
		all = append(all, fmt.Sprint(err))
	}
	return all
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

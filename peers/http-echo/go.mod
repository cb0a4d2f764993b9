module http-echo

go 1.21.0

require github.com/hashicorp/http-echo v1.0.0

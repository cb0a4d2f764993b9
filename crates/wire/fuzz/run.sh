#!/usr/bin/env bash
# Fuzzes each target for SECONDS (default 20), from a few seeds, and fails on the first finding, which it leaves in
# artifacts/. Needs a C++ compiler and the stable toolchain: coverage is a flag of LLVM's, and only the sanitizers that
# `cargo fuzz` adds need nightly. In code that forbids `unsafe` they would have little to find.
set -euo pipefail
cd "$(dirname "$0")"
seconds=${1:-20}
export RUSTFLAGS="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 --cfg fuzzing"
target_dir=${CARGO_TARGET_DIR:-$PWD/target}
# A target triple keeps these flags away from build scripts, which have no coverage runtime to link with.
triple=$(rustc -vV | sed -n 's/^host: //p')
cargo build --release --locked --quiet --target "$triple" --target-dir "$target_dir"
seeds=$(mktemp -d)
trap 'rm -rf "$seeds"' EXIT
# The first three bytes choose limits, methods and cuts; the rest is the input.
seed() { printf "$2" >"$seeds/$1"; }
seed get '\000\005\011GET / HTTP/1.1\r\nHost: a\r\n\r\n'
seed post '\000\005\011POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhelloGET /2 HTTP/1.0\r\n\r\n'
seed chunks '\002\100\003POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;a="b"\r\nhello\r\n0\r\nX: y\r\n\r\n'
seed answer '\010\005\011HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello'
seed answers '\120\005\011HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\nHTTP/1.0 200 OK\r\n\r\nrest'
seed lenient '\010\005\011\nHTTP/1.1  200 OK\nA : b\n c\nTransfer-Encoding: gzip,, chunked\nContent-Length: 2, 2\n\n2 \nhi\n0\nX: y\n\n'
mkdir -p artifacts
for fuzz in http1_server http1_client; do
    "$target_dir/$triple/release/$fuzz" -max_total_time="$seconds" -max_len=512 -dict=http1.dict -verbosity=0 -print_final_stats=1 \
        -artifact_prefix="artifacts/$fuzz-" "$seeds" 2>&1 | grep -vE '^("|#|Dictionary|stat::(new_units|slowest|peak))' | sed "s/^/$fuzz: /"
done

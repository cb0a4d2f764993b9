#!/usr/bin/env bash
# Packages every crate of the workspace as `cargo publish` would, from a copy of the tree in which publishing is allowed:
# while `publish = false` stands, cargo looks for the other crates in the registry only. Uploads nothing.
#   packaging/crates.sh [cargo package's flags, such as --no-verify]
set -euo pipefail
cd "$(dirname "$0")/.."
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
git ls-files -z --cached --others --exclude-standard | tar --null --ignore-failed-read --files-from=- --create | tar --extract --directory "$copy"
sed -i 's/^publish = false$/publish = true/' "$copy/Cargo.toml"
out=$PWD/target/packaging/crates
mkdir -p "$out"
CARGO_TARGET_DIR=$out cargo package --manifest-path "$copy/Cargo.toml" --workspace --locked --allow-dirty "$@"
ls -l "$out"/package/*.crate

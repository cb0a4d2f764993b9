#!/usr/bin/env bash
# Builds target/packaging/brunt-VERSION-TARGET.tar.gz from target/release/brunt, a checksum and a list of its parts (SBOM,
# CycloneDX JSON); prints the paths. The same commit and binary give the same bytes.
#   cargo build --release --locked && packaging/tarball.sh
# Needs cargo-cyclonedx (cargo install cargo-cyclonedx@0.5.9 --locked).
set -euo pipefail
cd "$(dirname "$0")/.."
cargo cyclonedx --version >/dev/null 2>&1 || { echo "error: no cargo-cyclonedx: cargo install cargo-cyclonedx@0.5.9 --locked" >&2; exit 1; }
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
target=$(rustc -vV | sed -n 's/^host: //p')
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
name=brunt-$version-$target out=target/packaging
packaging/stage.sh "$out/$name" >&2
strip "$out/$name/bin/brunt"

# It writes beside each manifest of the workspace.
cargo cyclonedx --quiet --manifest-path crates/brunt/Cargo.toml --format json --target "$target" --no-build-deps --override-filename brunt-sbom
mv crates/brunt/brunt-sbom.json "$out/$name.cdx.json"
find crates -name brunt-sbom.json -delete
# A random number and paths of this machine would differ from build to build.
packaging/sbom.py "$out/$name.cdx.json" "$PWD"

tar --directory "$out" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --format=gnu --create "$name" |
    gzip --no-name --best >"$out/$name.tar.gz"
(cd "$out" && sha256sum "$name.tar.gz" "$name.cdx.json" >"$name.sha256")
printf '%s\n' "$out/$name".{tar.gz,cdx.json,sha256}

#!/usr/bin/env bash
# Puts what a package installs under a prefix: binary, manual pages, completions, documentation, plans, licences.
#   packaging/stage.sh PREFIX [BINARY]
# The binary is target/release/brunt if none is given; it must run here, as it writes its own pages and completions.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
(($# == 1 || $# == 2)) || { echo "usage: packaging/stage.sh PREFIX [BINARY]" >&2; exit 2; }
prefix=$1 binary=${2:-${CARGO_TARGET_DIR:-$root/target}/release/brunt}
[[ -x $binary ]] || { echo "error: $binary does not exist: cargo build --release --locked" >&2; exit 1; }
rm -rf "$prefix"
share=$prefix/share doc=$prefix/share/doc/brunt plans=$prefix/share/brunt/experiments
mkdir -p "$prefix/bin" "$doc/docs" "$plans" "$share/man/man1" "$share/fish/vendor_completions.d" \
    "$share/bash-completion/completions" "$share/zsh/site-functions"
install -m 755 "$binary" "$prefix/bin/brunt"

"$binary" man "$share/man/man1"
"$binary" completions bash >"$share/bash-completion/completions/brunt"
"$binary" completions zsh >"$share/zsh/site-functions/_brunt"
"$binary" completions fish >"$share/fish/vendor_completions.d/brunt.fish"

# Relative links between documentation and plans hold. Measured results, 8 MB, stay in the repository.
cp -r "$root/README.md" "$root"/LICENSE-* "$doc"
cp -r "$root"/docs/{README.md,routes.toml,guide,internals,reference,schema,scripts} "$doc/docs"
cp -r "$root/experiments/." "$plans"
ln -s ../../brunt/experiments "$doc/experiments"
"$root/packaging/third-party.py" "$root" >"$doc/THIRD-PARTY"
find "$prefix" -type d -exec chmod 755 {} + -o -type f ! -path "$prefix/bin/*" -exec chmod 644 {} +

#!/usr/bin/env bash
# Builds target/packaging/brunt_VERSION_ARCH.deb from target/release/brunt; prints its path.
#   cargo build --release --locked && packaging/deb.sh
# Needs cargo-deb (cargo install cargo-deb@3.8.0 --locked) and dpkg-dev, which finds the libraries that the binary needs.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo deb --version >/dev/null 2>&1 || { echo "error: no cargo-deb: cargo install cargo-deb@3.8.0 --locked" >&2; exit 1; }
command -v dpkg-shlibdeps >/dev/null || { echo "error: no dpkg-shlibdeps: apt install dpkg-dev" >&2; exit 1; }
out=target/packaging stage=target/packaging/deb
packaging/stage.sh "$stage" >&2
# Where Debian's zsh looks.
mkdir "$stage/share/zsh/vendor-completions"
mv "$stage/share/zsh/site-functions/_brunt" "$stage/share/zsh/vendor-completions/"
rmdir "$stage/share/zsh/site-functions"
# A pattern would follow the link.
rm -f "$out/experiments"
mv "$stage/share/doc/brunt/experiments" "$out/experiments"
# Debian has these texts; packaging/copyright names what applies.
rm "$stage"/share/doc/brunt/LICENSE-*
install -D -m 644 packaging/lintian-overrides "$stage/share/lintian/overrides/brunt"

version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
printf 'brunt (%s-1) unstable; urgency=medium\n\n  * Version %s; see the history of the repository.\n\n -- %s  %s\n' "$version" "$version" \
    "$(sed -n 's/^maintainer = "\(.*\)"/\1/p' crates/brunt/Cargo.toml)" "$(date --utc --rfc-email --date="@$SOURCE_DATE_EPOCH")" >"$out/changelog"
rm -f "$out"/brunt_*.deb
cargo deb --package brunt --no-build --locked --output "$out/"

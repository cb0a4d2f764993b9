#!/usr/bin/env bash
# Builds the peers in release form and collects them under one name each: peers/bin/tokio, peers/bin/go, ...
# Usage: peers/build.sh [PEER...]   (all of them without arguments). Needs cargo and go; must never need more.
set -u
cd "$(dirname "$0")" || exit 1

if [ $# -eq 0 ]; then
  set -- tokio monoio glommio compio epoll-loop ring-loop go
fi
mkdir -p bin
for peer in "$@"; do
  if [ -f "$peer/go.mod" ]; then
    # A module without sources of its own pins a published program: it is named in go.mod, its checksum in go.sum.
    package=.
    [ -f "$peer/main.go" ] || package=$(awk '$1 == "require" { print $2 }' "$peer/go.mod")
    (cd "$peer" && go build -o "../bin/$peer" "$package")
  elif [ -f "$peer/Cargo.toml" ]; then
    # A target folder of its own, whatever CARGO_TARGET_DIR says: the copy below must find the program.
    (cd "$peer" && cargo build --release --locked --target-dir target) &&
      cp "$peer/target/release/peer-$peer" "bin/$peer.new" && mv "bin/$peer.new" "bin/$peer"
  else
    echo "peers/build.sh: there is no peer '$peer'; there are: $(ls -d */src */go.mod | sed 's,/.*,,' | xargs)" >&2
    exit 2
  fi || {
    echo "peers/build.sh: $peer does not build" >&2
    exit 1
  }
done

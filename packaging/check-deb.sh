#!/usr/bin/env bash
# Checks a package as its users would: lintian, install, run, purge; nothing is left. As root on Debian.
#   packaging/check-deb.sh FILE.deb
set -euo pipefail
(($# == 1)) || { echo "usage: packaging/check-deb.sh FILE.deb" >&2; exit 2; }
deb=$(realpath "$1") home=$(mktemp -d)
fail() { echo "error: $*" >&2; exit 1; }
dpkg-query -W brunt >/dev/null 2>&1 && fail "brunt is installed already: dpkg --purge brunt"
server=
clean() { [[ -z $server ]] || kill "$server" 2>/dev/null || :; dpkg --purge brunt >/dev/null 2>&1 || :; rm -rf "$home"; }
trap clean EXIT

lintian --allow-root --fail-on error,warning "$deb" || fail "lintian has complaints that packaging/lintian-overrides does not list"

mapfile -t files < <(dpkg-deb --contents "$deb" | sed -n 's/.* \.\(\/.*[^/]\)$/\1/p' | sed 's/ -> .*//')
# Images of containers leave manual pages out.
dpkg --path-include='/usr/share/man/*' --path-include='/usr/share/doc/*' --install "$deb" >/dev/null || fail "it cannot be installed: apt install $deb brings what it depends on"
export HOME=$home BRUNT_STATE_DIR=$home/state
cd "$home"
[[ $(brunt --version) == "brunt $(dpkg-query -W -f '${Version}' brunt | sed 's/-1$//')" ]] || fail "brunt --version: $(brunt --version)"
for page in brunt brunt-load brunt-ci; do man -w "$page" >/dev/null || fail "no manual page $page"; done
for file in bash-completion/completions/brunt zsh/vendor-completions/_brunt fish/vendor_completions.d/brunt.fish; do
    [[ -s /usr/share/$file ]] || fail "no /usr/share/$file"
done
brunt run /usr/share/brunt/experiments/example.toml --dry-run >/dev/null || fail "the plans cannot be read"

brunt serve echo --listen unix:"$home/socket" >/dev/null 2>&1 &
server=$!
for _ in {1..100}; do [[ -S socket ]] && break; sleep 0.1; done
brunt load "unix://$home/socket" -n 100 -c 2 --warmup 0s --allow-untrusted --json result.json >/dev/null || fail "the load failed"
grep -q '"completed": *100' result.json || fail "the load did not complete 100 requests"
kill "$server"; wait "$server" || :; server=

dpkg --purge brunt >/dev/null
for file in "${files[@]}"; do
    # Folders of other packages stay.
    [[ -d $file && ! -L $file ]] && continue
    [[ ! -e $file && ! -L $file ]] || fail "$file is left after purging"
done
[[ ! -e /usr/share/doc/brunt && ! -e /usr/share/brunt ]] || fail "folders are left after purging"
echo "$(basename "$deb"): installed, ran and purged; lintian has no errors and no warnings"

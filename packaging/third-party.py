#!/usr/bin/env python3
"""Crates that the binary contains, each with its licence, then the text of every licence once.

Usage: packaging/third-party.py ROOT. Reads the lock file and the sources that cargo has fetched; needs no network.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

TARGET = "x86_64-unknown-linux-gnu"
NAMES = re.compile(r"^(licen[cs]e|copying|notice|unlicense|copyright)", re.IGNORECASE)
# Licences of bundled C and C++ sources, below the crate's folder.
BUNDLED = ["luau0-src", "libsqlite3-sys"]


def contained(root: str) -> list[dict]:
    """Packages that the binary is linked from, by name."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", TARGET]
    metadata = json.loads(subprocess.run(command, cwd=root, check=True, capture_output=True).stdout)
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    packages = {package["id"]: package for package in metadata["packages"]}
    todo = [package["id"] for package in metadata["packages"] if package["name"] == "brunt"]
    found = set()
    while todo:
        one = todo.pop()
        if one in found:
            continue
        found.add(one)
        if packages[one]["name"] in BUNDLED:
            continue
        for dependency in nodes[one]["deps"]:
            kinds = {kind["kind"] for kind in dependency["dep_kinds"]}
            is_macro = any("proc-macro" in target["kind"] for target in packages[dependency["pkg"]]["targets"])
            # Nothing of a build's own tools is in the binary, but the sources in these are.
            if (None in kinds and not is_macro) or packages[dependency["pkg"]]["name"] in BUNDLED:
                todo.append(dependency["pkg"])
    external = [packages[one] for one in found if packages[one]["source"]]
    return sorted(external, key=lambda package: (package["name"], package["version"]))


def licences(package: dict) -> list[Path]:
    folder = Path(package["manifest_path"]).parent
    files = folder.rglob("*") if package["name"] in BUNDLED else folder.iterdir()
    return sorted(path for path in files if path.is_file() and NAMES.match(path.name) and path.suffix not in (".rs", ".h"))


def main() -> None:
    texts: dict[str, list[str]] = {}
    print("Crates in the brunt binary, with the licence that their manifests state.\n")
    for package in contained(sys.argv[1]):
        name = f"{package['name']} {package['version']}"
        print(f"{name}  {package['license'] or 'see below'}  {package['repository'] or ''}".rstrip())
        for path in licences(package):
            text = path.read_text(encoding="utf-8", errors="replace").strip()
            names = texts.setdefault(text, [])
            if name not in names:
                names.append(name)
    for text, names in sorted(texts.items(), key=lambda entry: entry[1]):
        print(f"\n{'-' * 78}\n{', '.join(names)}\n{'-' * 78}\n{text}")


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"error: cargo metadata: {error.stderr.decode().strip()}")

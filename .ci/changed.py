"""Whether a test program has passed as it is: what it can read is the same as when it last did.

A line of target/ci/passed is the program, its arguments and a hash: of the program itself, of those of its package that it starts,
of the files of its package, of what the repository holds outside of crates/, and of the variables that reach the tests. The file
is not committed: where nothing was run before, everything runs."""

import hashlib, os, shlex, subprocess
from pathlib import Path


class Passed:
    def __init__(self, file, root):
        self.file, self.root = file, root
        lines = file.read_text().splitlines() if file.exists() else []
        self.hashes = dict(line.rsplit(" ", 1) for line in lines)
        self.outside = self.hash_of(".", ":(exclude)crates", ":(exclude).ci/passed")

    def hash_of(self, *paths):
        """Of the files that git knows there, as they are now."""
        names = subprocess.run(["git", "ls-files", "-z", "--", *paths], cwd=self.root, check=True, capture_output=True).stdout
        found = hashlib.sha256()
        for name in filter(None, names.split(b"\0")):
            path = self.root / os.fsdecode(name)
            content = os.readlink(path).encode() if path.is_symlink() else path.read_bytes() if path.exists() else b""
            found.update(name + b"\0" + hashlib.sha256(content).digest())
        return found.hexdigest()

    def key(self, program, arguments):
        """The line of this program and these arguments, and its hash now."""
        variables = sorted(item for item in os.environ.items() if item[0].startswith(("BRUNT_", "RUST_")))
        parts = [self.hash_of(program["folder"]), self.outside, repr(variables)]
        for path in [program["path"], *program["starts"]]:
            with open(path, "rb") as file:
                parts.append(hashlib.file_digest(file, "sha256").hexdigest())
        backend = [f"BRUNT_BACKEND={os.environ['BRUNT_BACKEND']}"] if "BRUNT_BACKEND" in os.environ else []
        return shlex.join([program["name"], *backend, *arguments]), hashlib.sha256(" ".join(parts).encode()).hexdigest()

    def has(self, key):
        return self.hashes.get(key[0]) == key[1]

    def add(self, key):
        self.hashes[key[0]] = key[1]
        self.file.write_text("".join(f"{name} {value}\n" for name, value in sorted(self.hashes.items())))

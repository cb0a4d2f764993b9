"""The lines at the foot of a page of results: the machine, the program, the sources whose figures these are, and the command.

For the scripts beside the pages, which find it in the directory above theirs.
"""

import pathlib, sys, time

STARTED = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime())


def foot(env, crates):
    """Of the environment that `brunt load --out` has written, and the names of the crates."""
    memory, hashes = env["memory_bytes"] / 2**30, env["source_hashes"]
    script = pathlib.Path(sys.argv[0]).resolve()
    words = [f"docs/results/{script.parent.name}/{script.name}", "target/release/brunt", *sys.argv[2:]]
    return "\n".join([
        f"- {env['cpu']}; {env['cpus_online']} processors; {memory:.1f} GiB; {env['kernel']}; clock {env['clock_source']}; "
        f"brunt {env['brunt']} ({env['binary_hash']})",
        "- Source hashes: " + ", ".join(f"{name} {hashes[name]}" for name in crates),
        f"- Started {STARTED} as `{' '.join(words)}`",
    ])

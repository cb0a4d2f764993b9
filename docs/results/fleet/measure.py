#!/usr/bin/env python3
"""Loads that several agents make, while processes are killed and stopped, clocks are apart, and what it all costs.

    docs/results/fleet/measure.py target/release/brunt [kills|faults|clocks|counts|costs|meters|many] [COUNT]
    docs/results/fleet/measure.py target/release/brunt without OTHER [COUNT]

OTHER is a program that was built with --no-default-features. Three agents of this machine, a nats-server, and a target that counts what it gets and when. Prints a table for each part. Needs root
(namespaces) and nats-server; faults need iproute2 and faketime, too.
"""

import json, pathlib, subprocess, sys, tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
from faults import faults
from figures import clocks, costs, counts
from foot import foot
from kills import kills
from many import many
from meters import meters
from without import without
from world import BRUNT, TARGET, Target

PARTS = dict(kills=kills, faults=faults, clocks=clocks, counts=counts, many=many)
COUNTS = dict(kills=100, faults=3, clocks=50, counts=100, costs=40, meters=10, many=20, without=20)
WANTED = [word for word in sys.argv[2:] if word in COUNTS] or [part for part in COUNTS if part != "without"]
if sys.argv[-1].isdigit():
    COUNTS = dict.fromkeys(COUNTS, int(sys.argv[-1]))
# Crates whose sources the figures depend on.
MEASURED = ["load", "meter", "results", "runtime", "wire"]


def environment():
    """As a load writes it."""
    with tempfile.TemporaryDirectory(prefix="brunt-fleet-") as home:
        echo = subprocess.Popen([BRUNT, "serve", "echo", "--listen", f"127.0.0.1:{TARGET + 1}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        words = [BRUNT, "load", f"tcp://127.0.0.1:{TARGET + 1}", "--wait", "5s", "-n", "10", "--out", home, "--quiet", "--allow-untrusted"]
        subprocess.run(words, stdout=subprocess.DEVNULL, check=True)
        echo.terminate()
        echo.wait()
        return json.loads((pathlib.Path(home) / "env.json").read_text())


def main():
    of_target = [part for part in WANTED if part in PARTS]
    if of_target:
        target = Target()
        for part in of_target:
            PARTS[part](target, COUNTS[part])
        target.end()
    if "costs" in WANTED:
        costs(COUNTS["costs"])
    if "meters" in WANTED:
        meters(COUNTS["meters"])
    if "without" in WANTED:
        without(sys.argv[3], COUNTS["without"])
    print(foot(environment(), MEASURED))


main()

#!/usr/bin/env python3
"""Compares the key-value server on brunt's runtime with its twin on tokio, under redis-benchmark.

All servers are up at once, and each gets a short load in turn, in an order that changes with each round. Printed are the median of
the ratios to tokio within a round and its 95 % interval (by the order of the ratios), for requests per second and for CPU time a
request. Usage: peers/key_value.py [--rounds 15] [--requests 200000]. Needs redis-benchmark (apt install redis-tools) and two cores.
"""

import argparse
import itertools
import math
import os
import shutil
import statistics
import subprocess
import sys
import time

PORT = 7140
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
EXAMPLE = os.path.join(ROOT, "target/release/examples/key_value")
TOKIO = os.path.join(ROOT, "peers/bin/tokio-services")
# Requests of the first load of a server, for each of a pipeline.
WARM_UP = 50_000
TICK = os.sysconf("SC_CLK_TCK")


def build():
    cargo = ["cargo", "build", "--release", "-q", "-p", "brunt-runtime", "--example", "key_value"]
    for command in (cargo, ["peers/build.sh", "tokio-services"]):
        if subprocess.run(command, cwd=ROOT).returncode != 0:
            sys.exit(f"{' '.join(command)} has failed")


def start(workers, port):
    """The servers, on the cores that redis-benchmark does not have; with more than one worker on all cores."""
    cores = "1" if workers == 1 else f"0-{workers - 1}"
    commands = {
        "brunt-uring": [EXAMPLE, f"127.0.0.1:{port}", "uring", str(workers)],
        "brunt-epoll": [EXAMPLE, f"127.0.0.1:{port + 1}", "epoll", str(workers)],
        "tokio": [TOKIO, "--listen", f"127.0.0.1:{port + 2}", "--cores", cores, "--service", "key-value"],
    }
    servers = {}
    for number, (name, command) in enumerate(commands.items(), port):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
        servers[name] = (number, subprocess.Popen(["taskset", "-c", cores, *command], **quiet))
    time.sleep(0.5)
    for name, (_, process) in servers.items():
        if process.poll() is not None:
            stop(servers)
            sys.exit(f"{name} has ended with {process.returncode}: {process.stderr.read().decode().strip()}")
    return servers


def stop(servers):
    for _, process in servers.values():
        process.kill()
        process.wait()


def cpu(pid):
    with open(f"/proc/{pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def load(port, pid, what, pipeline, requests, cores):
    """Requests per second, and CPU time of the server a request in microseconds."""
    before = cpu(pid)
    command = ["redis-benchmark", "-p", str(port), "-t", what, "-P", str(pipeline), "-n", str(requests), "-c", "50", "--csv"]
    run = subprocess.run(["taskset", "-c", cores, *command], capture_output=True, text=True)
    line = run.stdout.strip().splitlines()[-1] if run.stdout.strip() else ""
    if run.returncode != 0 or not line.lower().startswith(f'"{what}'):
        sys.exit(f"{' '.join(command)}: {run.stdout}{run.stderr}")
    return float(line.split(",")[1].strip('"')), (cpu(pid) - before) / requests * 1e6


def interval(values):
    """The median, and the order statistics around it with at least 95 % (sign test)."""
    values, n = sorted(values), len(values)
    below, k = 0.0, 0
    while below + math.comb(n, k) / 2**n <= 0.025:
        below += math.comb(n, k) / 2**n
        k += 1
    low, high = (values[k - 1], values[n - k]) if k else (float("nan"), float("nan"))
    return f"{statistics.median(values):.2f} [{low:.2f} {high:.2f}]"


def compare(case, rounds, seconds):
    number, (workers, pipeline, what) = case
    # Ports of its own: after a kill the kernel closes the listener of a ring a moment later.
    servers = start(workers, PORT + 3 * number)
    try:
        cores = "0" if workers == 1 else f"0-{workers - 1}"

        def ask(name, requests):
            port, process = servers[name]
            return load(port, process.pid, what, pipeline, requests, cores)

        # Warms up, and finds how many requests take that long: as many for each server.
        rates = {name: ask(name, WARM_UP * pipeline)[0] for name in servers}
        requests = round(rates["tokio"] * seconds)
        orders = itertools.cycle(itertools.permutations(servers))
        rows = {name: [] for name in servers}
        for order in itertools.islice(orders, rounds):
            for name in order:
                rows[name].append(ask(name, requests))
    finally:
        stop(servers)
    base = rows["tokio"]
    for name in servers:
        pairs = list(zip(rows[name], base))
        rate = statistics.median(row[0] for row in rows[name])
        rates = interval([own[0] / other[0] for own, other in pairs])
        costs = interval([own[1] / other[1] for own, other in pairs])
        cost = statistics.median(row[1] for row in rows[name])
        print(f"| {name} | {workers} | {what} | {pipeline} | {rate:,.0f} | {rates} | {cost:.2f} | {costs} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=1.5)
    args = parser.parse_args()
    if args.rounds < 6:
        parser.error("--rounds: at least 6, or there is no interval of 95 %")
    if not shutil.which("redis-benchmark"):
        sys.exit("redis-benchmark is not installed: apt install redis-tools")
    if (os.cpu_count() or 1) < 2:
        sys.exit("one core: the servers need one beside that of redis-benchmark")
    build()
    print("| server | workers | command | pipeline | requests/s | ratio | CPU us/request | ratio |")
    print("|---|---|---|---|---|---|---|---|")
    for case in enumerate(itertools.product((1, 2), (1, 16), ("get", "set"))):
        compare(case, args.rounds, args.seconds)


if __name__ == "__main__":
    main()

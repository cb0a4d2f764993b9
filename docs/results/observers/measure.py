#!/usr/bin/env python3
"""Whether what watches a load changes its figures: loads with and without it, in random order, and their paired ratios.

    docs/results/observers/measure.py target/release/brunt [--rounds N] [--only "NAME;.."] > docs/results/observers/README.md

One server on core 1, one load at a time on core 0. Each round runs every variant once, in random order, beside a plain
load; a ratio is the variant's figure to the plain one's of the same round. Printed, as a page: the Hodges-Lehmann estimate of
the ratios' centre and its 95 % interval (Wilcoxon's signed ranks), of rate and of the generator's CPU time a request.
"""

import argparse
import json
import math
import os
import pathlib
import pty
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
from foot import foot

SERVER = "127.0.0.1:7391"
METRICS = "127.0.0.1:7392"
SINK = "127.0.0.1:7393"
URL = f"http://{SERVER}/"
# The crates whose figures these are.
MEASURED = ["load", "luau", "meter", "multiprocess", "results", "runtime", "serve", "tls", "wire"]


def take_pushes(listener):
    """Takes what --push sends, over plain sockets: the receiver shares the server's core."""
    while True:
        connection, _ = listener.accept()
        with connection, connection.makefile("rb") as lines:
            while line := lines.readline():
                length = 0
                while line.strip():
                    if line.lower().startswith(b"content-length:"):
                        length = int(line.split(b":")[1])
                    line = lines.readline()
                lines.read(length)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")


def scrape(stop):
    """Reads the metrics once a second, over a plain socket: the reader shares the server's core."""
    host, port = METRICS.split(":")
    while not stop.wait(1):
        try:
            with socket.create_connection((host, int(port)), timeout=1) as connection:
                connection.sendall(f"GET /metrics HTTP/1.1\r\nHost: {METRICS}\r\nConnection: close\r\n\r\n".encode())
                while connection.recv(65536):
                    pass
        except OSError:
            pass


class Variants:
    def __init__(self, brunt, folder):
        self.brunt, self.folder = brunt, folder
        self.lines = os.path.join(folder, "lines")
        with open(self.lines, "w") as lines:
            lines.writelines(f"name{number}\n" for number in range(1000))
        self.requests = os.path.join(folder, "requests")
        with open(self.requests, "w") as requests:
            requests.writelines(f"curl '{URL}?item={number}'\n" for number in range(100))
        # name: (arguments, seconds of the window, what it is compared with)
        same = f"{URL}?seq=00000000"
        self.all = {
            "the same load again": ([URL], 0.3, [URL]),
            "--names": ([URL, "--names", "all"], 0.3, [URL]),
            "two URLs, --names": ([URL, URL + "?b", "--names", "a,b"], 0.3, [URL, URL + "?b"]),
            "{seq}": ([URL + "?seq={seq}"], 0.3, [same]),
            "{rand:1..1000000}": ([URL + "?seq={rand:1..1000000}"], 0.3, [same]),
            "{uuid}": ([URL + "?seq={uuid}"], 0.3, [URL + "?seq=" + "0" * 36]),
            "{line:FILE}": ([URL + "?seq={line:" + self.lines + "}"], 0.3, [same]),
            "--requests FILE": (["--requests", self.requests], 0.3, [URL + "?item=50"]),
            "--out, with its page": ([URL, "--out", os.path.join(folder, "out")], 1.2, [URL]),
            "--metrics, read once a second": ([URL, "--metrics", METRICS], 1.2, [URL]),
            "--push otlp": ([URL, "--push", f"otlp=http://{SINK}/v1/metrics"], 1.2, [URL]),
            "--live": ([URL, "--live"], 1.2, [URL]),
            "--ui, followed by a browser": ([URL, "--ui", "--out", os.path.join(folder, "ui")], 1.2, [URL]),
        }

    def run(self, name, arguments, seconds):
        result = os.path.join(self.folder, "result.json")
        # All but the load threads share the other core, as the kernel would place them.
        command = [self.brunt, "load", *arguments, "-c", "40", "--cores", "0", "-d", f"{seconds}s", "--warmup", "100ms",
                   "--json", result, "--accept-any-result"]
        stop, reader = threading.Event(), None
        if name.startswith("--metrics"):
            reader = threading.Thread(target=scrape, args=(stop,))
            reader.start()
        if name == "--live":
            terminal(command)
        elif name.startswith("--ui"):
            follow(command, os.path.join(self.folder, "ui"))
        else:
            done = subprocess.run([*command, "--quiet"], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            if done.returncode:
                sys.exit(f"{' '.join(command)}: exit status {done.returncode}: {done.stderr.decode()}")
        if reader:
            stop.set()
            reader.join()
        with open(result) as file:
            figures = json.load(file)
        count = figures["requests"]["completed"]
        cpu = sum(figures["generator"]["thread_cpu_percent"]) / 100 * figures["load"]["measured_s"] / count * 1e9
        return figures["requests"]["rate"], cpu


def terminal(command):
    """Runs the command on a terminal of 80 columns and 24 lines."""
    child, controller = pty.fork()
    if child == 0:
        os.environ.update(TERM="xterm-256color", COLUMNS="80", LINES="24")
        os.execvp(command[0], command)
    while True:
        try:
            if not os.read(controller, 65536):
                break
        except OSError:
            break
    os.close(controller)
    os.waitpid(child, 0)


def follow(command, directory):
    """Runs the command and reads the events of its page until it ends, as a browser does."""
    load = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    address = next(line.split()[1] for line in load.stderr if line.startswith("page: "))
    place, token = address.split("?")
    events = f"{place}events?{token}&" + urllib.parse.urlencode({"dir": os.path.realpath(directory)})
    with urllib.request.urlopen(events, timeout=10) as stream:
        while stream.readline():
            pass
    load.stderr.read()
    load.wait()


def interval(values):
    """The Hodges-Lehmann estimate and its 95 % interval, from the normal approximation of Wilcoxon's signed ranks."""
    n = len(values)
    means = sorted((values[i] + values[j]) / 2 for i in range(n) for j in range(i, n))
    sums = len(means)
    k = max(int(sums / 2 - 1.96 * math.sqrt(n * (n + 1) * (2 * n + 1) / 24)), 0)
    return (means[(sums - 1) // 2] + means[sums // 2]) / 2, means[k], means[sums - 1 - k]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("brunt")
    parser.add_argument("--rounds", type=int, default=150)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    sink = socket.create_server((SINK.split(":")[0], int(SINK.split(":")[1])))
    threading.Thread(target=take_pushes, args=(sink,), daemon=True).start()
    os.sched_setaffinity(0, {0, 1})
    with tempfile.TemporaryDirectory() as folder:
        os.environ["BRUNT_STATE_DIR"] = folder
        server = subprocess.Popen([options.brunt, "serve", "http", "--listen", SERVER, "--cores", "1"],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(0.5)
            variants = Variants(options.brunt, folder)
            table(variants, options)
            print("\n" + foot(environment(variants), MEASURED))
        finally:
            server.terminate()
            server.wait()


HEAD = """# observers

Whether what watches a load, or varies its requests, changes its figures: the same load with and without it.

`brunt serve http` on core 1, 40 connections in a closed loop on core 0, loads of 0.3 s, or of 1.2 s for what acts once a second, {rounds} rounds.
In a round each variant runs once, in random order, and beside it the load without it. A ratio is of the two loads of one round; the table has
the Hodges-Lehmann estimate of their centre, which is the median of the means of all pairs of ratios, and its 95 % interval from Wilcoxon's
signed ranks. *yes*: the interval lies within 1 % of 1, so there is no difference that matters; *no*: it lies outside; *open*: it is too wide
to tell. A load with a placeholder is compared with one whose request is as long.

"""


def words(ratio):
    """Whether an interval of ratios lies within 1 % of 1."""
    _, low, high = ratio
    if 0.99 <= low and high <= 1.01:
        return "yes"
    return "no" if high < 0.99 or low > 1.01 else "open"


def environment(variants):
    """That of a load, as brunt writes it."""
    directory = os.path.join(variants.folder, "env")
    subprocess.run([variants.brunt, "load", URL, "-n", "10", "--out", directory, "--quiet", "--accept-any-result"],
                   stdout=subprocess.DEVNULL, check=True)
    with open(os.path.join(directory, "env.json")) as file:
        return json.load(file)


def rounds(variants, options, figures):
    """Adds a pair of figures to each variant in every round; Ctrl-C ends with those so far."""
    chosen = list(figures)
    try:
        for number in range(options.rounds):
            random.shuffle(chosen)
            for name in chosen:
                arguments, seconds, plain = variants.all[name]
                order = [(name, arguments), ("", plain)]
                random.shuffle(order)
                pair = {what: variants.run(what, words, seconds) for what, words in order}
                figures[name].append((pair[name], pair[""]))
            print(f"round {number + 1} of {options.rounds}", file=sys.stderr, end="\r")
    except KeyboardInterrupt:
        pass


def table(variants, options):
    figures = {name: [] for name in variants.all if not options.only or name in options.only.split(";")}
    rounds(variants, options, figures)
    done = min(map(len, figures.values()))
    figures = {name: pairs[:done] for name, pairs in figures.items()}
    print(HEAD.format(rounds=done), end="")
    print("| with | rate to that without [95 %] | within 1 % | generator CPU a request [95 %] | within 1 % | ns a request more |")
    print("| :-- | --: | :-- | --: | :-- | --: |")
    for name in variants.all:
        if name not in figures:
            continue
        rate = interval([one[0] / other[0] for one, other in figures[name]])
        cpu = interval([one[1] / other[1] for one, other in figures[name]])
        ns = interval([one[1] - other[1] for one, other in figures[name]])
        cells = ["{:.3f} [{:.3f} {:.3f}]".format(*rate), words(rate), "{:.3f} [{:.3f} {:.3f}]".format(*cpu), words(cpu),
                 "{:.0f} [{:.0f} {:.0f}]".format(*ns)]
        print(f"| `{name}` | " + " | ".join(cells) + " |")


main()

"""A load without `--on`, of a program that has fleets beside one that was built without them."""

import json, pathlib, subprocess, time

from world import BRUNT, TARGET, median_of_ratios, table


def cpu_us(pid):
    return sum(int(task.read_text().split()[0]) for task in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e3


def load(program, *flags):
    """Result of a load of 3 s, CPU time of its process in a second of it, threads, and files that are open."""
    words = [program, "load", f"tcp://127.0.0.1:{TARGET}", "-c", "40", "-d", "3", "--warmup", "0s", "--cores", "0", "--no-meter", "--json", "-", "--quiet", "--allow-untrusted", *flags]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    time.sleep(1.5)
    before, at = cpu_us(process.pid), time.monotonic()
    time.sleep(1)
    used = (cpu_us(process.pid) - before) / (time.monotonic() - at)
    of = pathlib.Path(f"/proc/{process.pid}")
    counts = len(list((of / "task").iterdir())), len(list((of / "fd").iterdir()))
    return json.loads(process.communicate()[0]), used, counts


def without(other, count):
    """In turn, by pairs."""
    echo = subprocess.Popen([BRUNT, "serve", "echo", "--listen", f"127.0.0.1:{TARGET}", "--cores", "1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.5)
    rows = []
    for flags in (["-R", "20k"], []):
        costs, rates, seen = [], [], dict(own=set(), other=set())
        for number in range(count):
            got = {}
            for name in ("own", "other") if number % 2 else ("other", "own"):
                result, used, counts = load(BRUNT if name == "own" else other, *flags)
                got[name] = used / result["requests"]["rate"], result["requests"]["rate"]
                seen[name].add(counts)
            costs.append(got["own"][0] / got["other"][0])
            rates.append(got["own"][1] / got["other"][1])
        told = lambda name: " or ".join(f"{threads} and {files}" for threads, files in sorted(seen[name]))
        rows.append((" ".join(flags) or "closed loop", count, told("own"), told("other"), median_of_ratios(costs), median_of_ratios(rates)))
    table(["load", "pairs", "threads and open files with fleets", "without", "CPU time of a request in the generator, with fleets of that without", "rate"], rows)
    echo.terminate()
    echo.wait()

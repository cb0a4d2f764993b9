"""CPU time of a server as an agent meters it, beside the same as the load meters it itself, each of what the kernel charged the server."""

import json, pathlib, statistics, subprocess

from world import BRUNT, TARGET, Fleet, median_of_ratios, table


def charged_us(pid):
    """CPU time of all threads of a process until now."""
    return sum(int(task.read_text().split()[0]) for task in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e3


def share(load, server):
    """CPU time of the window as metered, of that charged during the whole load, which is a window and the opening of 40 connections."""
    before = charged_us(server.pid)
    result = json.loads(load().stdout)
    requests = result["requests"]
    return requests["completed"] * result["server"]["cpu_us_per_request"] / (charged_us(server.pid) - before), result["server"].get("machine")


def meters(count):
    """In turn, by pairs. The load has core 0, the server core 1."""
    server = subprocess.Popen([BRUNT, "serve", "http", "--listen", f"127.0.0.1:{TARGET}", "--cores", "1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    fleet, rows = Fleet(), []
    flags_there = ["--meter", "a", "--fleet", fleet.home / "fleet/operator.fleet"]
    for flags in (["-R", "10k"], []):
        shares, delays = dict(there=[], here=[]), []
        for number in range(count):
            for name in ("there", "here") if number % 2 else ("here", "there"):
                words = [BRUNT, "load", f"http://127.0.0.1:{TARGET}/", "-c", "40", "-d", "4", "--warmup", "0s", "--cores", "0", "--json", "-", "--quiet", "--allow-untrusted"]
                words += [*flags, *(flags_there if name == "there" else [])]
                of_load, machine = share(lambda: subprocess.run(words, env=fleet.env, capture_output=True, check=True), server)
                shares[name].append(of_load)
                if machine:
                    delays.append(machine["delay_us"])
        ratios = [there / here for there, here in zip(shares["there"], shares["here"])]
        rows.append((" ".join(flags) or "closed loop", count, median_of_ratios(shares["there"]), median_of_ratios(shares["here"]), median_of_ratios(ratios), f"{statistics.median(delays):.0f} us", f"{max(delays):.0f} us"))
    table(["load", "pairs", "by an agent", "by the load", "an agent's of the load's", "window later by at most, p50", "max"], rows)
    print(f"Processes left: {fleet.end()}.\n", flush=True)
    server.terminate()
    server.wait()

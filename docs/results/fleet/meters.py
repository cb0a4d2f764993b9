"""CPU time of a request as an agent meters it, beside the same as the load meters it itself."""

import json, statistics, subprocess

from world import BRUNT, TARGET, Fleet, table


def meters(count):
    """In turn, by pairs. The load has core 0, the server core 1."""
    server = subprocess.Popen([BRUNT, "serve", "http", "--listen", f"127.0.0.1:{TARGET}", "--cores", "1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    fleet, rows = Fleet(), []
    of_fleet = ["--fleet", fleet.home / "fleet/operator.fleet"]
    for flags in (["-R", "10k"], []):
        ratios, delays = [], []
        for number in range(count):
            got = {}
            for name in ("there", "here") if number % 2 else ("here", "there"):
                meter = ["--meter", "a", *of_fleet] if name == "there" else []
                words = [BRUNT, "load", f"http://127.0.0.1:{TARGET}/", "-c", "40", "-d", "4", "--cores", "0", "--json", "-", "--quiet", "--allow-untrusted", *flags, *meter]
                got[name] = json.loads(subprocess.run(words, env=fleet.env, capture_output=True, check=True).stdout)["server"]
            ratios.append(got["there"]["cpu_us_per_request"] / got["here"]["cpu_us_per_request"])
            delays.append(got["there"]["machine"]["delay_us"])
        rows.append((" ".join(flags) or "closed loop", count, f"x{statistics.median(ratios):.3f} [{min(ratios):.3f} {max(ratios):.3f}]",
                     f"{statistics.median(delays):.0f} us", f"{max(delays):.0f} us"))
    table(["load", "pairs", "CPU time of a request by an agent, of that by the load", "window later by at most, p50", "max"], rows)
    print(f"Processes left: {fleet.end()}.\n", flush=True)
    server.terminate()
    server.wait()

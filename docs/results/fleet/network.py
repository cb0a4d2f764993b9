"""An agent in a network namespace with two links of its own: one to the NATS server, one to the target. Each is cut in one direction or both
by a wrong hardware address of the other end, so that what is sent there is lost without a word."""

import pathlib, subprocess

SERVER, AGENT = "10.77.0.1", "10.77.0.2"
TARGET_HOST, TARGET_AGENT = "10.78.0.1", "10.78.0.2"
WRONG = "02:00:00:00:00:99"


def run(*words):
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


class Links:
    def __init__(self):
        self.holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        pid = str(self.holder.pid)
        while pathlib.Path(f"/proc/{pid}/comm").read_text().strip() != "sleep":
            pass
        self.within = ["nsenter", "-t", pid, "-n"]
        for name, here, there in (("control", SERVER, AGENT), ("load", TARGET_HOST, TARGET_AGENT)):
            run("ip", "link", "add", f"br-{name}", "type", "veth", "peer", "name", name, "netns", pid)
            run("ip", "addr", "add", f"{here}/24", "dev", f"br-{name}")
            run("ip", "link", "set", f"br-{name}", "up")
            run(*self.within, "ip", "addr", "add", f"{there}/24", "dev", name)
            run(*self.within, "ip", "link", "set", name, "up")

    def cut(self, link, to_agent, from_agent):
        here, there = dict(control=(SERVER, AGENT), load=(TARGET_HOST, TARGET_AGENT))[link]
        if to_agent:
            run("ip", "neigh", "replace", there, "lladdr", WRONG, "nud", "permanent", "dev", f"br-{link}")
        if from_agent:
            run(*self.within, "ip", "neigh", "replace", here, "lladdr", WRONG, "nud", "permanent", "dev", link)

    def heal(self):
        for link, here, there in (("control", SERVER, AGENT), ("load", TARGET_HOST, TARGET_AGENT)):
            subprocess.run(["ip", "neigh", "del", there, "dev", f"br-{link}"], stderr=subprocess.DEVNULL)
            subprocess.run([*self.within, "ip", "neigh", "del", here, "dev", link], stderr=subprocess.DEVNULL)

    def end(self):
        """The namespace goes later than its process, and the links with it."""
        for link in ("control", "load"):
            subprocess.run(["ip", "link", "del", f"br-{link}"])
        self.holder.kill()
        self.holder.wait()

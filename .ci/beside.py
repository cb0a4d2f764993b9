"""What a run of the tests shares the cores with: nothing, two busy loops, or pauses of the whole tree; and how they are shared out."""

import os, subprocess, sys, threading, time
from pathlib import Path


class ByThread:
    """The cores are shared out thread by thread. Linux 6.18, if it shares out time by session (autogroup) and a session computes
    without a pause, never runs the threads of other groups on that core: a job of least weight stood for half an hour, and with it
    all that read its /proc/PID/stat. A kernel that does not let it be set stays as it is."""

    SETTING = Path("/proc/sys/kernel/sched_autogroup_enabled")

    def __enter__(self):
        self.restores = None
        if os.access(self.SETTING, os.W_OK) and (before := self.SETTING.read_text()).strip() != "0":
            # Its input ends with the suite, however that ends.
            command = [sys.executable, "-c", "import sys; sys.stdin.read(); open(sys.argv[1], 'w').write(sys.argv[2])"]
            self.restores = subprocess.Popen([*command, self.SETTING, before], stdin=subprocess.PIPE, start_new_session=True)
            self.SETTING.write_text("0")

    def __exit__(self, *_):
        if self.restores:
            self.restores.communicate()


class Busy:
    """Two loops that compete for the cores. They end with the suite, however that ends."""

    LOOP = "import os, sys\nwhile os.getppid() == int(sys.argv[1]):\n for _ in range(1000000): pass"

    def __enter__(self):
        self.loops = [subprocess.Popen([sys.executable, "-c", self.LOOP, str(os.getpid())]) for _ in range(2)]

    def __exit__(self, *_):
        for loop in self.loops:
            loop.terminate()
            loop.wait()


class Pauses:
    """A freezer cgroup that stops this process's children for 5 to 50 ms at random, about a tenth of the time."""

    FREEZER = Path("/sys/fs/cgroup/freezer")

    def __enter__(self):
        if not self.FREEZER.is_dir():
            sys.exit(f".ci/suite: {self.FREEZER} is missing: mount -t cgroup -o freezer none {self.FREEZER}")
        own = Path(f"/proc/self/cgroup").read_text().splitlines()
        base = next(line.split(":", 2)[2] for line in own if ":freezer:" in line)
        self.home = self.FREEZER / base.lstrip("/")
        self.group = self.home / f"brunt-suite-{os.getpid()}"
        self.group.mkdir()
        # The whole tree of tests: they are started by a process in the group, and this thread's process leaves it again.
        (self.group / "cgroup.procs").write_text("0")
        self.stop = threading.Event()
        # The helper that freezes must not be frozen itself.
        self.freezer = subprocess.Popen([sys.executable, "-c", FREEZE, str(self.group), str(self.home), str(os.getpid())])

    def __exit__(self, *_):
        self.freezer.terminate()
        self.freezer.wait()
        (self.group / "freezer.state").write_text("THAWED")
        (self.home / "cgroup.procs").write_text("0")
        for _ in range(100):
            try:
                self.group.rmdir()
                return
            except OSError:
                time.sleep(0.05)


FREEZE = """
import os, random, sys, time, signal
group, home, suite = sys.argv[1:]
open(home + "/cgroup.procs", "w").write("0")
signal.signal(signal.SIGTERM, lambda *_: sys.exit())
def state(word):
    open(group + "/freezer.state", "w").write(word)
try:
    # If the suite was killed, what is left of its tree must not be frozen.
    while os.getppid() == int(suite):
        time.sleep(random.uniform(0.05, 0.45))
        state("FROZEN")
        time.sleep(random.uniform(0.005, 0.05))
        state("THAWED")
finally:
    state("THAWED")
"""


class Idle:
    def __enter__(self):
        pass

    def __exit__(self, *_):
        pass

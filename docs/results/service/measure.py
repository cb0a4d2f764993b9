#!/usr/bin/env python3
"""What a request costs services of several processes, by `brunt load` and by the kernel's account of each part.

    docs/results/service/measure.py target/release/brunt [NAME..]

Each part of a service runs in a control group of its own (cpuacct of version 1, or version 2), whose CPU time is read
before and after a load of a number of requests. A stack whose program is missing is left out and named. Prints a table.
"""

import json, os, pathlib, shutil, signal, socket, subprocess, sys, tempfile, textwrap, threading, time

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent))
from foot import foot

BRUNT, WANTED = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
HOME = pathlib.Path(tempfile.mkdtemp(prefix="brunt-stacks-"))
V1 = pathlib.Path("/sys/fs/cgroup/cpuacct")
ROOT = V1 if V1.is_dir() else pathlib.Path("/sys/fs/cgroup")
FRONT, BACK = 18080, 18081
# The crates whose figures these are.
MEASURED = ["load", "meter", "results", "runtime", "wire"]

PYTHON_BACKEND = """
import http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        body = b"Hello, world!"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
server.serve_forever()
"""
PYTHON_PROXY = """
import http.client, http.server, sys, threading
local = threading.local()
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        if not hasattr(local, "to"): local.to = http.client.HTTPConnection("127.0.0.1", int(sys.argv[2]))
        local.to.request("GET", self.path)
        body = local.to.getresponse().read()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *args): pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
NODE = """
require("http").createServer((q, r) => r.end("Hello, world!")).listen(process.argv[2].match(/^[0-9]+$/) ? +process.argv[2] : process.argv[2], "127.0.0.1")
"""
NODE_UNIX = """
require("http").createServer((q, r) => r.end("Hello, world!")).listen(process.argv[2])
"""
NODE_CLUSTER = """
const cluster = require("cluster")
if (cluster.isPrimary) { cluster.fork(); cluster.fork() }
else require("http").createServer((q, r) => r.end("Hello, world!")).listen(+process.argv[2], "127.0.0.1")
"""
GO = """
package main
import ("net/http"; "net/http/httputil"; "net/url"; "os"; "runtime")
func main() {
	runtime.GOMAXPROCS(2)
	if len(os.Args) > 2 {
		to, _ := url.Parse("http://127.0.0.1:" + os.Args[2])
		proxy := httputil.NewSingleHostReverseProxy(to)
		http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = 64
		http.ListenAndServe("127.0.0.1:"+os.Args[1], proxy)
	}
	http.ListenAndServe("127.0.0.1:"+os.Args[1], http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { w.Write([]byte("Hello, world!")) }))
}
"""
WSGI = """
def app(environ, start_response):
    body = b"Hello, world!"
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]
"""
NGINX = """
user root; worker_processes 2; daemon off; error_log stderr crit; pid {home}/nginx.pid;
events {{ worker_connections 1024; }}
http {{
  access_log off; keepalive_requests 1000000;
  client_body_temp_path {home}/b; proxy_temp_path {home}/p; fastcgi_temp_path {home}/f; uwsgi_temp_path {home}/u; scgi_temp_path {home}/s;
  upstream back {{ server {to}; {keep} }}
  server {{ listen 127.0.0.1:{port}; location / {{ {action} }} }}
}}
"""
PROXY_KEPT = 'proxy_pass http://back; proxy_http_version 1.1; proxy_set_header Connection "";'
FASTCGI = "fastcgi_pass back; fastcgi_param SCRIPT_FILENAME {home}/hello.php; fastcgi_param REQUEST_METHOD GET;"
HAPROXY = """
global
  nbthread 2
defaults
  mode http
  timeout client 60s
  timeout server 60s
  timeout connect 5s
frontend front
  bind 127.0.0.1:{port}
  default_backend back
backend back
  server one 127.0.0.1:{back}
"""
FPM = """
[global]
error_log = /dev/null
daemonize = no
[www]
user = nobody
group = nogroup
listen = {home}/php.sock
listen.mode = 0666
pm = static
pm.max_children = 4
pm.max_requests = 300
"""


def write(name, text):
    path = HOME / name
    path.write_text(textwrap.dedent(text))
    return str(path)


class Part:
    """A program in a control group of its own."""

    def __init__(self, name, words):
        self.name, self.words = name, words
        self.group = ROOT / f"brunt-stacks-{os.getpid()}-{name}"

    def start(self):
        self.group.mkdir()
        procs = self.group / "cgroup.procs"
        self.process = subprocess.Popen(
            self.words, preexec_fn=lambda: procs.write_text(str(os.getpid())), cwd=HOME,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=open(HOME / f"{self.name}.log", "w"))

    def also(self, words):
        """Another program in the same group, such as one that takes over."""
        procs = self.group / "cgroup.procs"
        return subprocess.Popen(words, preexec_fn=lambda: procs.write_text(str(os.getpid())), cwd=HOME,
                                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def us(self):
        if ROOT == V1:
            return int((self.group / "cpuacct.usage").read_text()) / 1e3
        return float(dict(line.split() for line in (self.group / "cpu.stat").read_text().splitlines())["usage_usec"])

    def stop(self):
        for _ in range(200):
            pids = (self.group / "cgroup.procs").read_text().split()
            if not pids:
                break
            for pid in pids:
                try:
                    os.kill(int(pid), signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.02)
        self.process.wait()
        self.group.rmdir()


def python(name, text, *args):
    return Part(name, [sys.executable, write(f"{name}.py", text), *map(str, args)])


def node(name, text, *args):
    return Part(name, ["node", write(f"{name}.js", text), *map(str, args)])


def nginx(to, keep="", action="proxy_pass http://back;"):
    text = NGINX.format(home=HOME, to=to, keep=keep, action=action.format(home=HOME), port=FRONT)
    return Part("nginx", ["nginx", "-p", str(HOME), "-c", write("nginx.conf", text)])


def go(name, *args):
    binary = HOME / "goserver"
    if not binary.exists():
        write("server.go", GO)
        subprocess.run(["go", "build", "-o", binary, HOME / "server.go"], check=True, cwd=HOME, env={**os.environ, "GO111MODULE": "off"})
    return Part(name, [str(binary), *map(str, args)])


def fpm():
    found = sorted(path for folder in ["/usr/sbin", "/usr/bin"] for path in pathlib.Path(folder).glob("php-fpm*"))
    write("hello.php", "<?php echo 'Hello, world!';")
    HOME.chmod(0o755)
    return Part("php-fpm", [str(found[0]), "-F", "-y", write("fpm.conf", FPM.format(home=HOME))])


def reload_nginx(parts):
    os.kill(int((HOME / "nginx.pid").read_text()), signal.SIGHUP)


def reload_haproxy(parts):
    haproxy = parts[0]
    old = (haproxy.group / "cgroup.procs").read_text().split()
    haproxy.also(["haproxy", "-db", "-f", str(HOME / "haproxy.conf"), "-sf", *old])


KEPT = "keepalive 16;"
# Name, programs that it needs, its parts (the first listens), what happens in the middle of the load.
STACKS = [
    ("python proxy -> python", [], lambda: [python("proxy", PYTHON_PROXY, FRONT, BACK), python("python", PYTHON_BACKEND, BACK)], None),
    ("nginx -> python", ["nginx"], lambda: [nginx(f"127.0.0.1:{BACK}", KEPT, PROXY_KEPT), python("python", PYTHON_BACKEND, BACK)], None),
    ("nginx -> node, a connection a request", ["nginx", "node"], lambda: [nginx(f"127.0.0.1:{BACK}"), node("node", NODE, BACK)], None),
    ("nginx -> node, Unix socket", ["nginx", "node"], lambda: [nginx(f"unix:{HOME}/node.sock", KEPT, PROXY_KEPT), node("node", NODE_UNIX, HOME / "node.sock")], None),
    ("nginx -> node, nginx reloaded", ["nginx", "node"], lambda: [nginx(f"127.0.0.1:{BACK}", KEPT, PROXY_KEPT), node("node", NODE, BACK)], reload_nginx),
    ("nginx -> php-fpm", ["nginx", "php-fpm"], lambda: [nginx(f"unix:{HOME}/php.sock", "", FASTCGI), fpm()], None),
    ("node cluster", ["node"], lambda: [node("node", NODE_CLUSTER, FRONT)], None),
    ("go proxy -> go", ["go"], lambda: [go("proxy", FRONT, BACK), go("go", BACK)], None),
    ("haproxy -> go, haproxy reloaded", ["haproxy", "go"], lambda: [Part("haproxy", ["haproxy", "-db", "-f", write("haproxy.conf", HAPROXY.format(port=FRONT, back=BACK))]), go("go", BACK)], reload_haproxy),
    ("gunicorn, workers replaced", ["gunicorn"], lambda: [write("wsgi.py", WSGI) and Part("gunicorn", ["gunicorn", "-w", "2", "-k", "gthread", "--threads", "4", "--keep-alive", "5", "--max-requests", "500", "-b", f"127.0.0.1:{FRONT}", "wsgi:app"])], None),
]
LOADS = ["-n 6000 -c 4", "-R 500 -d 6s -c 4 --warmup 0s"]


def has(program):
    if program == "php-fpm":
        return any(list(pathlib.Path(folder).glob("php-fpm*")) for folder in ["/usr/sbin", "/usr/bin"])
    return shutil.which(program)


def until_up():
    for _ in range(500):
        try:
            with socket.create_connection(("127.0.0.1", FRONT), 1) as one:
                one.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                if one.recv(15).startswith(b"HTTP/1.1 200"):
                    return
        except OSError:
            pass
        time.sleep(0.02)
    raise SystemExit(f"nothing answers; see {HOME}/*.log")


def load(flags, parts, middle):
    before = [part.us() for part in parts]
    words = [BRUNT, "load", f"http://127.0.0.1:{FRONT}/", *flags.split(), "--json", "-", "--quiet", "--allow-untrusted", "--out", str(HOME / "out")]
    running = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if middle:
        timer = threading.Timer(1.5, middle, [parts])
        timer.start()
    out, err = running.communicate()
    after = [part.us() for part in parts]
    try:
        result = json.loads(out)
    except ValueError:
        raise SystemExit(f"{words}: {err}")
    sent = result["requests"]["completed"] + result["requests"]["failed"]
    if middle:
        timer.join()
    server = result["server"]
    upstreams = server.get("upstreams", [])
    ours = [server["cpu_us_per_request"]] + [one["cpu_us_per_request"] for one in upstreams]
    names = [parts[0].name] + [one["name"] for one in upstreams]
    truth = [(now - then) / max(sent, 1) for now, then in zip(after, before)]
    return ours, names, truth, result


def main():
    print("| service | load | the kernel's account, us a request | by brunt | ratio |")
    print("|---|---|---|---|---|")
    missing, worst = [], 0.0
    try:
        for name, needs, make, middle in STACKS:
            if WANTED and not any(word in name for word in WANTED):
                continue
            lacks = [program for program in needs if not has(program)]
            if lacks:
                missing.append(f"{name} ({', '.join(lacks)})")
                continue
            for flags in LOADS:
                for left in HOME.glob("*.sock"):
                    left.unlink()
                parts = make()
                try:
                    for part in reversed(parts):
                        part.start()
                    until_up()
                    if middle:
                        flags = flags.replace("-n 6000", "-n 12000")
                    ours, names, truth, result = load(flags, parts, middle)
                finally:
                    for part in parts:
                        part.stop()
                ratio = sum(ours) / sum(truth)
                worst = max(worst, abs(ratio - 1))
                said = " + ".join(f"{part.name} {us:.1f}" for part, us in zip(parts, truth))
                found = " + ".join(f"{name} {us:.1f}" for name, us in zip(names, ours))
                print(f"| {name} | `{flags}` | {said} = {sum(truth):.1f} | {found} = {sum(ours):.1f} | {ratio:.3f} |", flush=True)
                time.sleep(0.5)
        env = json.loads((HOME / "out" / "env.json").read_text())
    finally:
        shutil.rmtree(HOME, ignore_errors=True)
    print(f"\nThe largest difference is {worst * 100:.1f} %." + (f" Left out: {'; '.join(missing)}." if missing else ""))
    print("\n" + foot(env, MEASURED))


main()

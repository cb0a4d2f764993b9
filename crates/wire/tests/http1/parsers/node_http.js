// Verdicts of Node's http (llhttp) on requests: a line of hex in, a verdict out. See h11_parser.py for the verdicts.
const http = require("http");
const net = require("net");
const readline = require("readline");

let seen;
const server = http.createServer((request, response) => {
  const body = [];
  seen.open += 1;
  request.on("data", (piece) => body.push(piece));
  request.on("error", () => {});
  request.on("end", () => {
    seen.open -= 1;
    seen.bodies.push(Buffer.concat(body).toString("hex"));
    response.end();
  });
});
server.on("connect", (_request, socket) => {
  seen.bodies.push("");
  socket.end();
});
server.on("clientError", (error, socket) => {
  if (error.code !== "HPE_INVALID_EOF_STATE") seen.refused = true;
  socket.destroy();
});

function verdict(line) {
  return new Promise((resolve) => {
    seen = { bodies: [], open: 0, refused: false };
    let answer = "";
    const socket = net.connect(server.address().port, "127.0.0.1", () => socket.end(Buffer.from(line, "hex")));
    socket.setTimeout(5000, () => socket.destroy());
    socket.on("data", (piece) => (answer += piece.toString("latin1")));
    socket.on("error", () => {});
    socket.on("close", () => {
      // The server's own events of this connection may still be under way.
      setImmediate(() => {
        if (seen.refused || /HTTP\/1\.[01] [45]\d\d /.test(answer)) resolve("R");
        else if (seen.open > 0 || seen.bodies.length === 0) resolve("W");
        else resolve("T " + seen.bodies.join(","));
      });
    });
  });
}

server.listen(0, "127.0.0.1", async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) console.log(await verdict(line));
  process.exit(0);
});

// What Node's client (llhttp, lenient) reads in replies: a line with a method and hex in, a verdict out. See h11_client.py.
const http = require("http");
const net = require("net");
const readline = require("readline");

let bytes;
const server = net.createServer((socket) => {
  socket.once("data", () => socket.end(bytes));
  socket.on("error", () => {});
});

function verdict(method, hex) {
  bytes = Buffer.from(hex, "hex");
  return new Promise((resolve) => {
    const { port } = server.address();
    const options = { port, method, agent: false, insecureHTTPParser: true, maxHeaderSize: 256 << 10 };
    const request = http.request(options, (response) => {
      const body = [];
      response.on("data", (piece) => body.push(piece));
      response.on("error", () => resolve("R"));
      response.on("aborted", () => resolve("R"));
      response.on("end", () => resolve(`T ${response.statusCode} ${Buffer.concat(body).toString("hex")}`));
    });
    request.on("error", () => resolve("R"));
    request.setTimeout(5000, () => request.destroy());
    request.end();
  });
}

server.listen(0, "127.0.0.1", async () => {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    console.log(await verdict(...line.split(" ")));
  }
  process.exit(0);
});

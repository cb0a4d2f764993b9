//! Routes: selection, and each kind of response on the wire.

use crate::http::on_every_model;
use crate::shared::client::*;

on_every_model! {
    the_most_exact_route_answers
    every_kind_of_response
    delayed_responses_keep_their_order
    large_responses_are_sent_in_pieces
}

fn the_most_exact_route_answers(model: &str) {
    let routes = r#"
[[route]]
path = "/*"
text = "any"
[[route]]
path = "/a/*"
text = "below a"
[[route]]
path = "/a/b/*"
text = "below b"
[[route]]
path = "/a/b"
method = "GET"
text = "b"
[[route]]
path = "/a/b"
host = "other.example"
method = "PUT"
text = "put"
[[route]]
path = "/only"
method = ["POST", "GET"]
text = "only"
[[listener]]
name = "one"
listen = "127.0.0.1:0"
[[listener]]
name = "two"
listen = ["127.0.0.1:0", "[::1]:0"]
service = "echo"
[[route]]
path = "/two"
listener = "two"
text = "two"
"#;
    let directory = brunt_testkit::home();
    let file = directory.path().join("routes.toml");
    std::fs::write(&file, routes).unwrap();
    let flags = format!("--routes {} --model {model}", file.display());
    let server = crate::shared::server::Server::start(command(&flags));
    assert_eq!(server.addresses.len(), 3);
    let mut client = Client::connect(server.address());
    for (path, text) in [("/", "any"), ("/a/x", "below a"), ("/a/b/c?q", "below b"), ("/a/b", "b"), ("/two", "any")] {
        assert_eq!(client.get(path).text(), text, "{path}");
    }
    assert_eq!(client.post("/a/b", b"x").text(), "below a", "a method that the exact path does not take");
    client.send("PUT /a/b HTTP/1.1\r\nHost: Other.Example:80\r\n\r\n");
    assert_eq!(client.answer().text(), "put");
    assert_eq!(Client::connect(server.addresses[2]).get("/two").text(), "two");
}

// Over 60 lines: the file of routes, and the response to each.
fn every_kind_of_response(model: &str) {
    let routes = r#"
[[route]]
path = "/plain"
text = "text"
status = 203
headers = { X-One = "1", X-Many = ["a", "b"] }
[[route]]
path = "/typed"
text = "<p>"
type = "text/html"
[[route]]
path = "/file"
file = "routes.toml"
[[route]]
path = "/size"
size = "2KiB"
[[route]]
path = "/empty"
status = 204
[[route]]
path = "/echo"
echo = true
status = 201
[[route]]
path = "/reflect"
reflect = true
[[route]]
path = "/chunks"
text = "abcdef"
chunks = { pieces = 3, every = "5ms" }
[[route]]
path = "/drip"
text = "abcdef"
drip = { pieces = 6, every = "5ms" }
[[route]]
path = "/sse"
sse = { events = 2, every = "10ms", data = "x" }
[[route]]
path = "/post"
method = ["POST", "GET"]
text = "posted"
"#;
    let (server, directory) = start_routes(model, routes, "");
    let mut client = Client::connect(server.address());
    let plain = client.get("/plain");
    assert_eq!((plain.status, plain.text(), plain.field("X-One")), (203, "text", Some("1")));
    assert_eq!(plain.head.matches("X-Many: ").count(), 2);
    assert_eq!(client.get("/typed").field("Content-Type"), Some("text/html"));
    assert_eq!(client.get("/file").body, std::fs::read(directory.path().join("routes.toml")).unwrap());
    assert_eq!(client.get("/size").body.len(), 2048);
    let empty = client.get("/empty");
    assert_eq!((empty.status, empty.field("Content-Length")), (204, None));
    let echo = client.post("/echo", b"again");
    assert_eq!((echo.status, echo.text()), (201, "again"));
    let seen: serde_json::Value = serde_json::from_slice(&client.get("/reflect?x=1").body).unwrap();
    assert_eq!((&seen["path"], &seen["args"]["x"][0]), (&"/reflect".into(), &"1".into()));
    let chunks = client.get("/chunks");
    assert_eq!((chunks.text(), chunks.field("Transfer-Encoding")), ("abcdef", Some("chunked")));
    let drip = client.get("/drip");
    assert_eq!((drip.text(), drip.field("Content-Length")), ("abcdef", Some("6")));
    assert_eq!(client.get("/sse").text(), "id: 0\ndata: x\n\nid: 1\ndata: x\n\n");
    assert_eq!(client.get("/none").status, 404);
    client.send("DELETE /post HTTP/1.1\r\nHost: a\r\n\r\n");
    let refused = client.answer();
    assert_eq!((refused.status, refused.field("Allow")), (405, Some("GET, HEAD, POST")));
    client.send("HEAD /post HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.head().field("Content-Length"), Some("6"));
}

/// Of each distribution. How long they take, is tested in `crates/serve/tests/sim`.
fn delayed_responses_keep_their_order(model: &str) {
    let routes = r#"
[[route]]
path = "/constant"
delay = "20ms"
[[route]]
path = "/uniform"
delay = { from = "5ms", to = "10ms" }
[[route]]
path = "/lognormal"
delay = { median = "5ms", sigma = 0.1 }
[[route]]
path = "/bimodal"
delay = { usual = "1ms", rare = "10ms", share = 0.5 }
"#;
    let (server, _directory) = start_routes(model, routes, "");
    let mut client = Client::connect(server.address());
    for path in ["/constant", "/uniform", "/lognormal", "/bimodal"] {
        assert_eq!(client.get(path).status, 200, "{path}");
        // Pipelined responses wait for each other.
        client.send(format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\nGET /none HTTP/1.1\r\nHost: a\r\n\r\n").repeat(3));
        let statuses: Vec<_> = (0..6).map(|_| client.answer().status).collect();
        assert_eq!(statuses, [200, 404, 200, 404, 200, 404], "{path}");
    }
}

fn large_responses_are_sent_in_pieces(model: &str) {
    let routes = "[[route]]\npath = \"/large\"\nsize = \"40MiB\"\n[[route]]\npath = \"/kept\"\nsize = \"3MiB\"\nchunks = { pieces = 7 }\n";
    let (server, _directory) = start_routes(model, routes, "");
    let before = server.resident();
    let mut client = Client::connect(server.address());
    assert_eq!(client.get("/large").body.len(), 40 << 20);
    let grown = server.resident().saturating_sub(before);
    // Program text that is dropped after start-up comes back as a few megabytes.
    assert!(grown < 20 << 20, "the server has grown by {grown} bytes");
    assert_eq!(client.get("/kept").body.len(), 3 << 20);
}

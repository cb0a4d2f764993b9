//! The paths of go-httpbin, and clients' control over the response.

use crate::http::on_every_model;
use crate::shared::client::*;

on_every_model! {
    every_path_has_its_response
    client_requests_are_capped
    clients_override_responses_by_field_or_query
}

fn every_path_has_its_response(model: &str) {
    let server = start(model, "--service httpbin");
    let mut client = Client::connect(server.address());
    assert_eq!(client.get("/status/418").status, 418);
    assert_eq!(client.get("/bytes/1000").body.len(), 1000);
    assert_eq!(client.get("/health").status, 200);
    assert!(client.get("/ip").text().contains("\"origin\": \"127.0.0.1\""));
    assert!(client.get("/headers").text().contains("\"Host\""));
    assert_eq!(client.get("/delay/0.01").status, 200);
    let drip = client.get("/drip?numbytes=5&duration=20ms&code=201");
    assert_eq!((drip.status, drip.text(), drip.field("Content-Length")), (201, "*****", Some("5")));
    let stream = client.get("/stream/3");
    assert_eq!(stream.field("Transfer-Encoding"), Some("chunked"));
    let ids = stream.text().lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["id"].clone());
    assert_eq!(ids.collect::<Vec<_>>(), [0, 1, 2]);
    let events = client.get("/sse?count=2&duration=0");
    assert_eq!(events.field("Content-Type"), Some("text/event-stream"));
    assert_eq!(events.text().matches("event: ping\n").count(), 2);
    assert_eq!(client.get("/unstable?failure_rate=1").status, 500);
    assert_eq!(client.get("/unstable?failure_rate=0").status, 200);
    let seen: serde_json::Value =
        serde_json::from_slice(&client.post("/anything/x?a=1&a=%202", b"{\"k\":3}").body).unwrap();
    assert_eq!((&seen["method"], &seen["json"]["k"]), (&"POST".into(), &3.into()));
    assert_eq!((&seen["args"]["a"], &seen["url"]), (&["1", " 2"].into(), &"http://a/anything/x?a=1&a=%202".into()));
    assert_eq!(client.get("/nothing/here").status, 404);
}

fn client_requests_are_capped(model: &str) {
    let server = start(model, "--service httpbin");
    let mut client = Client::connect(server.address());
    let too_much = [
        "/delay/11",
        "/delay/x",
        "/bytes/99999999",
        "/bytes/-1",
        "/stream/100000",
        "/status/99",
        "/status/abc",
        "/drip?duration=11s",
        "/drip?numbytes=99999999999",
        "/sse?count=1000000",
        "/unstable?failure_rate=2",
    ];
    for path in too_much {
        let answer = client.get(path);
        assert!(answer.status == 400 && answer.text().starts_with("400 Bad Request: "), "{path}: {}", answer.text());
    }
}

fn clients_override_responses_by_field_or_query(model: &str) {
    let routes = "[[listener]]\nlisten = \"127.0.0.1:1\"\nservice = \"hello\"\ncontrol = true\n[[route]]\npath = \"/firm\"\ntext = \"firm\"\n";
    let (server, _directory) = start_routes(model, routes, "");
    let mut client = Client::connect(server.address());
    client.send(
        "GET / HTTP/1.1\r\nHost: a\r\nX-Set-Response-Status-Code: 503\r\nx-set-response-content-type: text/x\r\n\r\n",
    );
    let answer = client.answer();
    assert_eq!((answer.status, answer.field("Content-Type"), answer.text()), (503, Some("text/x"), "Hi, there!\n"));
    let answer = client.get("/?x-set-response-status-code=404&x-set-response-delay-ms=10&x-set-response-body-bytes=9");
    assert_eq!((answer.status, answer.body.len()), (404, 9));
    for bad in ["status-code=1000", "delay-ms=10001", "delay-ms=x", "body-bytes=99999999", "content-type=a%0d%0ab"] {
        assert_eq!(client.get(&format!("/?x-set-response-{bad}")).status, 400, "{bad}");
    }
    assert_eq!(client.get("/firm?x-set-response-status-code=503").status, 200);
}

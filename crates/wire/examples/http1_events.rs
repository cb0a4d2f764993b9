//! Prints what the parser makes of standard input, one event a line: for bug reports, and to see a rule at work.
//!
//! `printf 'GET / HTTP/1.1\r\nHost: a\r\n\r\n' | cargo run -q -p brunt-wire --example http1_events`
//!
//! With methods as arguments it reads responses to such requests: `... | http1_events GET HEAD`.

use std::io::Read;

use brunt_wire::http1::{Limits, client, server};

fn main() -> std::io::Result<()> {
    let methods: Vec<String> = std::env::args().skip(1).collect();
    let mut bytes = Vec::new();
    std::io::stdin().lock().read_to_end(&mut bytes)?;
    let mut input = &bytes[..];
    if methods.is_empty() {
        let mut connection = server::Connection::default();
        while let Some(event) = connection.next(&mut input, &Limits::SERVER) {
            match event {
                server::Event::Body(data) => body(data),
                server::Event::Error(error) => println!("ParseError({error:?}), status {}: {error}", error.status()),
                other => println!("{other:?}"),
            }
        }
        println!("waiting for: {:?}", connection.waiting());
        if let Some(error) = connection.eof() {
            println!("end of input: {error}");
        }
        return Ok(());
    }
    let mut connection = client::Connection::default();
    for method in &methods {
        connection.sent(client::SentRequest::new(method)).map_err(std::io::Error::other)?;
    }
    while let Some(event) = connection.next(&mut input, &Limits::CLIENT) {
        match event {
            client::Event::Body(data) => body(data),
            client::Event::Error(error) => println!("ParseError({error:?}): {error}"),
            other => println!("{other:?}"),
        }
    }
    if !input.is_empty() {
        println!("not HTTP any more: {} bytes", input.len());
    }
    match connection.eof() {
        Some(event) => println!("end of input: {event:?}"),
        None => println!("end of input, {} unanswered", connection.unanswered()),
    }
    Ok(())
}

fn body(data: &[u8]) {
    println!("Body({} bytes) {:?}", data.len(), String::from_utf8_lossy(&data[..data.len().min(60)]));
}

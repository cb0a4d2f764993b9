//! A proxy in the test, which tunnels, refuses, closes or says nothing.

use brunt_testkit::read_head;
use std::io::{self, BufReader, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// `me:secret`
pub const AUTHORIZATION: &str = "Proxy-Authorization: Basic bWU6c2VjcmV0";

#[derive(Clone, Copy, PartialEq)]
pub enum Answer {
    /// Connects to the target.
    Tunnel,
    /// The same with credentials, else 407.
    TunnelKnown,
    /// The same for as many connections, then 503.
    TunnelFirst(usize),
    Close,
    Nothing,
}

pub struct Proxy {
    pub address: SocketAddr,
    /// The head of each request.
    heads: Arc<Mutex<Vec<String>>>,
}

impl Proxy {
    /// Whatever host it is asked for, it connects to this port.
    pub fn start(answer: Answer, port: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&heads);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let kept = Arc::clone(&kept);
                thread::spawn(move || serve(stream, answer, port, &kept));
            }
        });
        Self { address, heads }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}

fn serve(mut client: TcpStream, answer: Answer, port: u16, heads: &Mutex<Vec<String>>) -> io::Result<()> {
    let mut input = BufReader::new(client.try_clone()?);
    let Some(head) = read_head(&mut input) else { return Ok(()) };
    let is_known = head.contains(AUTHORIZATION);
    let number = {
        let mut heads = heads.lock().unwrap();
        heads.push(head);
        heads.len()
    };
    let refusal = match answer {
        Answer::Close => return Ok(()),
        Answer::Nothing => return io::copy(&mut input, &mut io::sink()).map(drop),
        Answer::TunnelKnown if !is_known => Some("407 Proxy Authentication Required"),
        Answer::TunnelFirst(most) if number > most => Some("503 Busy"),
        _ => None,
    };
    if let Some(status) = refusal {
        return write!(client, "HTTP/1.1 {status}\r\nContent-Length: 3\r\n\r\nno\n");
    }
    let target = TcpStream::connect(("127.0.0.1", port))?;
    target.set_nodelay(true)?;
    client.set_nodelay(true)?;
    // In two pieces, as it may come.
    client.write_all(b"HTTP/1.1 200 Connection est")?;
    client.write_all(b"ablished\r\nVia: test\r\n\r\n")?;
    let (mut to, mut from, back) = (target.try_clone()?, target, client.try_clone()?);
    let up = thread::spawn(move || {
        let _ = io::copy(&mut input, &mut to);
        to.shutdown(Shutdown::Write)
    });
    let _ = io::copy(&mut from, &mut client);
    let _ = back.shutdown(Shutdown::Write);
    drop(up.join());
    Ok(())
}

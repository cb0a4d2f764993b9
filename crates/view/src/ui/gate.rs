//! Access control: the token, and the names under which the page can be reached.
//!
//! Other users of the machine can connect, and so can pages of other sites in the user's browser. Invariants:
//! - Every request names the address that is listened on, or localhost, in `Host`: a site whose name was pointed at this
//!   address (DNS rebinding) is refused.
//! - Every request has the token, in the URL or in the cookie that the first one sets.
//! - A POST comes from a page of this server.

use brunt_serve::http::handler::Request;
use brunt_serve::http::query_pairs;
use std::fs::File;
use std::hint::black_box;
use std::io::{self, Read as _};

/// Bytes of randomness in a token.
const LENGTH: usize = 16;

#[derive(Debug)]
pub(super) struct Gate {
    token: String,
}

/// How a request has passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pass {
    /// The token was in the URL: the reply sets the cookie.
    Url,
    Cookie,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Refusal {
    pub status: u16,
    pub text: &'static str,
}

const HOST: Refusal =
    Refusal { status: 421, text: "this server answers under its own address only: use the URL that brunt printed" };
const TOKEN: Refusal = Refusal { status: 403, text: "the token is missing or wrong: use the URL that brunt printed" };
const ORIGIN: Refusal = Refusal { status: 403, text: "the request comes from another site" };

impl Gate {
    pub fn new() -> io::Result<Self> {
        let mut bytes = [0; LENGTH];
        File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        Ok(Self { token: bytes.iter().map(|byte| format!("{byte:02x}")).collect() })
    }

    pub fn token(&self) -> &str {
        &self.token
    }

    pub fn check(&self, request: &Request<'_>) -> Result<Pass, Refusal> {
        let own = request.local.to_string();
        let local = format!("localhost:{}", request.local.port());
        let mut hosts = request.fields.all("host");
        match (hosts.next(), hosts.next()) {
            (Some(host), None) if host == own.as_bytes() || host.eq_ignore_ascii_case(local.as_bytes()) => (),
            _ => return Err(HOST),
        }
        let pass = self.pass(request)?;
        let is_read = matches!(request.method, "GET" | "HEAD");
        if is_read || is_same_origin(request, &[own, local]) { Ok(pass) } else { Err(ORIGIN) }
    }

    fn pass(&self, request: &Request<'_>) -> Result<Pass, Refusal> {
        let name = cookie_name(request);
        let mut cookies = request.fields.all("cookie").flat_map(|all| all.split(|byte| *byte == b';'));
        let is_ours = |cookie: &[u8]| {
            let value = cookie.trim_ascii().strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"="));
            value.is_some_and(|value| self.is_token(value))
        };
        if cookies.any(is_ours) {
            return Ok(Pass::Cookie);
        }
        let mut pairs = query_pairs(request.query.as_bytes());
        let is_given = pairs.any(|(name, value)| name == b"token" && self.is_token(&value));
        if is_given { Ok(Pass::Url) } else { Err(TOKEN) }
    }

    /// Takes the same time wherever the first difference is.
    fn is_token(&self, given: &[u8]) -> bool {
        let own = self.token.as_bytes();
        let differing = own.iter().zip(given).fold(0, |all, (a, b)| all | (a ^ b));
        black_box(differing) == 0 && own.len() == given.len()
    }

    /// `Set-Cookie`. Cookies are not separated by port, so the name has it.
    pub fn cookie(&self, request: &Request<'_>) -> String {
        format!("{}={}; Path=/; HttpOnly; SameSite=Strict", cookie_name(request), self.token)
    }
}

fn cookie_name(request: &Request<'_>) -> String {
    format!("brunt-ui-{}", request.local.port())
}

/// Whether a page of this server sends the request. The pages send no referrer, and so `Origin: null` with a form that no
/// script sends; a browser then says in a field that scripts cannot set where the form comes from.
fn is_same_origin(request: &Request<'_>, hosts: &[String]) -> bool {
    match request.fields.get("origin") {
        Some(b"null") => request.fields.get("sec-fetch-site") == Some(b"same-origin"),
        Some(origin) => hosts.iter().any(|host| origin == format!("http://{host}").as_bytes()),
        None => false,
    }
}

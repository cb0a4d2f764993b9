//! What of command lines, messages and results is a secret: passwords of URLs and values of headers that authenticate.

/// Whether a header of this name holds a secret.
pub fn is_secret(header: &str) -> bool {
    const SECRET: [&str; 6] =
        ["authorization", "proxy-authorization", "cookie", "set-cookie", "x-api-key", "x-auth-token"];
    SECRET.iter().any(|secret| header.trim().eq_ignore_ascii_case(secret))
}

/// The text without users and passwords of its URLs.
pub fn without_users(text: &str) -> String {
    let (mut shown, mut rest) = (String::new(), text);
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        shown += before;
        let ends = |c: char| c.is_whitespace() || matches!(c, '/' | '?' | '#' | '\'' | '"');
        let authority = &after[..after.find(ends).unwrap_or(after.len())];
        rest = after;
        if let Some(user) = authority.rfind('@') {
            shown += "[hidden]";
            rest = &after[user..];
        }
    }
    shown + rest
}

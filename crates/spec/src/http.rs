//! Settings of http:// and https:// targets.

use crate::row;
use crate::setting::{Heading, Setting};

const fn of(setting: Setting) -> Setting {
    setting.under(Heading::Http)
}

pub(crate) const TABLE: &[Setting] = &[
    of(row!(requests_or_file)).long("requests").help(
        "FILE",
        "Send the requests of this file, in order, round and round: curl command lines, HAR, or vegeta's targets. Without a \
         URL they go to the hosts of the file. A number is that of -n",
    ),
    of(row!(method))
        .short('X')
        .long("method")
        .help("METHOD", "Method [default: GET, or POST with --body]")
        .field("Method", "GET"),
    of(row!(header))
        .short('H')
        .long("header")
        .help(
            "FIELD",
            "Header of every request, for example 'Accept: text/html'; may be repeated. Only Host is sent by default",
        )
        .field("Header fields, one a line", "Accept: text/html"),
    of(row!(body)).long("body").help("TEXT|@FILE", "Body of every request, or @FILE").field("Body, or @FILE", ""),
    of(row!(weight)).long("weight").separated().help(
        "N,N..",
        "Relative frequency of each URL, in their order: 3,1 [default: equal]. For URLs on different hosts, their share of \
         the connections",
    ),
    of(row!(names)).long("names").separated().help(
        "NAME,NAME..",
        "Names of the URLs in the result, in their order: home,cart. URLs of one name share its figures [default: the paths]",
    ),
    of(row!(connect_to)).long("connect-to").help(
        "ADDRESS",
        "Connect to this address instead of the URL's: HOST:PORT or unix:PATH. Host and TLS remain those of the URL",
    ),
    of(row!(proxy))
        .long("proxy")
        .help(
            "URL",
            "Connect through this proxy: http://HOST:PORT. For http:// URLs too it is asked for a tunnel (CONNECT), so \
             requests remain as they are",
        )
        .conflicts("connect_to"),
    of(row!(proxy_auth))
        .long("proxy-auth")
        .help("FILE", "Authenticate to the proxy with the NAME:PASSWORD in this file")
        .requires("proxy"),
    of(row!(basic_auth))
        .long("basic-auth")
        .help("FILE", "Send HTTP basic authentication with the NAME:PASSWORD in this file")
        .conflicts("bearer")
        .field("File with NAME:PASSWORD", "/home/me/password"),
    of(row!(bearer))
        .long("bearer")
        .help("FILE", "Send the token in this file as a bearer token (Authorization)")
        .field("File with a bearer token", "/home/me/token"),
    of(row!(pipeline)).long("pipeline").help(
        "N",
        "Outstanding requests per connection: without -R sent in one write, the next batch when all are answered; with -R \
         each sent when due",
    ),
    of(row!(vary)).long("vary").help(
        "N",
        "Variants of each request, sent in turn: query, cookie and each {vary} of the path differ from request to request",
    ),
    of(row!(http10))
        .long("http1.0")
        .help("", "Use HTTP/1.0, with `Connection: keep-alive` unless --no-keepalive"),
    of(row!(expect_status))
        .long("expect-status")
        .help("LIST", "Accepted statuses, for example 200 or 2xx,404; any other is an error [default: 2xx,3xx]"),
    of(row!(expect_length)).long("expect-length").help("SIZE", "Required length of every response body"),
    of(row!(expect_body)).long("expect-body").help("TEXT", "Text required in every response body"),
];

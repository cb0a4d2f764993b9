//! Requests that servers have been broken with, each a test named after its public id (Http11Probe, h1spec), in a table that
//! the split and differential tests go through again.

use brunt_wire::http1::Limits;

use crate::common::{Verdict, serve, verdict};

/// One case of the table.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    pub name: &'static str,
    pub bytes: &'static [u8],
    pub wants: Wants,
}

/// What is to become of it.
#[derive(Debug, Clone, Copy)]
pub enum Wants {
    /// Requests with these bodies.
    Takes(&'static [&'static str]),
    Refuses(u16),
    Waits,
}

impl Wants {
    pub fn verdict(self) -> Verdict {
        match self {
            Wants::Takes(bodies) => Verdict::Takes(bodies.iter().map(|body| body.as_bytes().to_vec()).collect()),
            Wants::Refuses(status) => Verdict::Refuses(status),
            Wants::Waits => Verdict::Waits,
        }
    }
}

macro_rules! cases {
    ($($name:ident: $wants:expr, $($part:literal),+;)*) => {
        pub const ALL: &[Case] = &[$(Case {
            name: stringify!($name),
            bytes: concat!($($part),+).as_bytes(),
            wants: $wants,
        },)*];

        $(#[test]
        fn $name() {
            check(stringify!($name));
        })*
    };
}

fn check(name: &str) {
    let case = ALL.iter().find(|case| case.name == name).expect("a case of the table");
    let seen = serve(&[case.bytes], &Limits::default());
    assert_eq!(verdict(&seen), case.wants.verdict(), "{seen:?}");
}

use Wants::{Refuses, Takes, Waits};

cases! {
    // The request line: RFC 9112, section 3.
    comp_baseline: Takes(&[""]), "GET / HTTP/1.1\r\nHost: localhost:8080\r\n\r\n";
    rfc9112_3_multi_sp_request_line: Refuses(400), "GET  / HTTP/1.1\r\nHost: a\r\n\r\n";
    rfc9112_3_missing_target: Refuses(400), "GET HTTP/1.1\r\nHost: a\r\n\r\n";
    rfc9112_3_2_fragment_in_target: Refuses(400), "GET /path#frag HTTP/1.1\r\nHost: a\r\n\r\n";
    rfc9112_2_3_http09_request: Refuses(400), "GET /\r\n";
    rfc9112_2_3_invalid_version: Refuses(505), "GET / HTTP/9.9\r\nHost: a\r\n\r\n";
    comp_version_2: Refuses(505), "GET / HTTP/2.0\r\nHost: a\r\n\r\n";
    comp_http12_version: Takes(&[""]), "GET / HTTP/1.2\r\nHost: a\r\n\r\n";
    comp_version_missing_minor: Refuses(400), "GET / HTTP/1\r\nHost: a\r\n\r\n";
    comp_version_leading_zeros: Refuses(400), "GET / HTTP/01.01\r\nHost: a\r\n\r\n";
    comp_version_whitespace: Refuses(400), "GET / HTTP/ 1.1\r\nHost: a\r\n\r\n";
    comp_version_case: Refuses(400), "GET / http/1.1\r\nHost: a\r\n\r\n";
    comp_request_line_tab: Refuses(400), "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n";
    comp_space_in_target: Refuses(400), "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n";
    comp_method_case: Takes(&[""]), "get / HTTP/1.1\r\nHost: a\r\n\r\n";
    comp_unknown_method: Takes(&[""]), "FROBNICATE / HTTP/1.1\r\nHost: a\r\n\r\n";
    mal_method_not_a_token: Refuses(400), "GE(T / HTTP/1.1\r\nHost: a\r\n\r\n";
    mal_nul_in_url: Refuses(400), "GET /\0test HTTP/1.1\r\nHost: a\r\n\r\n";
    mal_non_ascii_url: Refuses(400), "GET /caf\u{e9} HTTP/1.1\r\nHost: a\r\n\r\n";
    mal_whitespace_only_line: Refuses(400), "   \r\n\r\n";
    mal_binary_garbage: Refuses(400), "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}\u{fc}\u{3}\u{3}";
    mal_empty_request: Waits, "";
    mal_incomplete_request: Waits, "GET / HTTP/1.1\r\nHost: a\r\nX-Test: value";

    // The four forms of a target: RFC 9112, section 3.2.
    comp_absolute_form: Takes(&[""]), "GET http://localhost:8080/ HTTP/1.1\r\nHost: localhost:8080\r\n\r\n";
    comp_absolute_form_other_scheme: Refuses(400), "GET ftp://localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n";
    comp_absolute_form_userinfo: Refuses(400), "GET http://me@localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n";
    smug_absolute_uri_host_mismatch: Takes(&[""]), "GET http://other.example.com/ HTTP/1.1\r\nHost: localhost\r\n\r\n";
    comp_options_star: Takes(&[""]), "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n";
    comp_asterisk_with_get: Refuses(400), "GET * HTTP/1.1\r\nHost: a\r\n\r\n";
    comp_method_connect: Takes(&[""]), "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n";
    comp_connect_origin_form: Refuses(400), "CONNECT / HTTP/1.1\r\nHost: a\r\n\r\n";
    comp_connect_without_port: Refuses(400), "CONNECT example.com HTTP/1.1\r\nHost: a\r\n\r\n";
    comp_authority_form_with_get: Refuses(400), "GET example.com:443 HTTP/1.1\r\nHost: a\r\n\r\n";

    // Host: RFC 9112, section 3.2.
    rfc9112_7_1_missing_host: Refuses(400), "GET / HTTP/1.1\r\n\r\n";
    rfc9110_5_4_duplicate_host: Refuses(400), "GET / HTTP/1.1\r\nHost: a\r\nHost: other.example.com\r\n\r\n";
    comp_duplicate_host_same: Refuses(400), "GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n";
    comp_host_empty_value: Refuses(400), "GET / HTTP/1.1\r\nHost: \r\n\r\n";
    comp_host_with_path: Refuses(400), "GET / HTTP/1.1\r\nHost: localhost/path\r\n\r\n";
    comp_host_with_userinfo: Refuses(400), "GET / HTTP/1.1\r\nHost: user@localhost\r\n\r\n";
    comp_host_ipv6: Takes(&[""]), "GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n";
    comp_host_ipv6_open: Refuses(400), "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n";
    comp_host_port_not_a_number: Refuses(400), "GET / HTTP/1.1\r\nHost: a:80b\r\n\r\n";
    smug_multiple_host_comma: Refuses(400), "GET / HTTP/1.1\r\nHost: localhost:8080, other.example.com\r\n\r\n";
    comp_http10_no_host: Takes(&[""]), "GET / HTTP/1.0\r\n\r\n";
    comp_http10_two_hosts: Refuses(400), "GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n";

    // Line ends: RFC 9112, section 2.2.
    rfc9112_2_2_bare_lf_request_line: Refuses(400), "GET / HTTP/1.1\nHost: a\r\n\r\n";
    rfc9112_2_2_bare_lf_header: Refuses(400), "GET / HTTP/1.1\r\nHost: a\nX-Test: value\r\n\r\n";
    rfc9112_2_2_bare_lf_last_header: Refuses(400), "GET / HTTP/1.1\r\nHost: a\n\r\n";
    rfc9112_2_2_bare_lf_empty_line: Refuses(400), "GET / HTTP/1.1\r\nHost: a\r\n\n";
    rfc9112_3_cr_only_line_ending: Refuses(400), "GET / HTTP/1.1\rHost: a\r\n\r\n";
    smug_bare_cr_header_value: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nX-Test: val\rue\r\n\r\nhello";
    comp_leading_crlf: Takes(&[""]), "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n";
    comp_leading_bare_lf: Refuses(400), "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n";
    comp_leading_bare_lf_in_pairs: Refuses(400), "\n\nGET / HTTP/1.1\r\nHost: a\r\n\r\n";
    comp_crlf_behind_a_body: Takes(&["hello", ""]), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n";

    // Field lines: RFC 9112, section 5.
    rfc9112_5_1_obs_fold: Refuses(400), "GET / HTTP/1.1\r\nHost: a\r\nX-Test: value\r\n continued\r\n\r\n";
    rfc9110_5_6_2_sp_before_colon: Refuses(400), "GET / HTTP/1.1\r\nHost: a\r\nX-Test : value\r\n\r\n";
    rfc9112_5_empty_header_name: Refuses(400), "GET / HTTP/1.1\r\nHost: a\r\n: empty-name\r\n\r\n";
    rfc9112_5_invalid_header_name: Refuses(400), "GET / HTTP/1.1\r\nHost: a\r\nBad[Name: value\r\n\r\n";
    rfc9112_5_header_no_colon: Refuses(400), "GET / HTTP/1.1\r\nHost: a\r\nNoColonHere\r\n\r\n";
    comp_whitespace_before_headers: Refuses(400), "GET / HTTP/1.1\r\n \r\nHost: a\r\n\r\n";
    mal_control_chars_header: Refuses(400), "GET / HTTP/1.1\r\nHost: a\r\nX-Test: abc\u{7}\u{8}\u{b}def\r\n\r\n";
    mal_nul_in_header: Refuses(400), "GET / HTTP/1.1\r\nHost: a\r\nX-Test: a\0b\r\n\r\n";
    mal_non_ascii_header_name: Refuses(400), "GET / HTTP/1.1\r\nHost: a\r\nX-T\u{eb}st: value\r\n\r\n";
    comp_obs_text_header_value: Takes(&[""]), "GET / HTTP/1.1\r\nHost: a\r\nX-Test: caf\u{e9}\r\n\r\n";
    comp_header_without_value: Takes(&[""]), "GET / HTTP/1.1\r\nHost: a\r\nX-Test:\r\n\r\n";

    // Content-Length: RFC 9110, section 8.6; RFC 9112, section 6.3.
    comp_post_cl_body: Takes(&["hello"]), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";
    comp_post_cl_zero: Takes(&[""]), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n";
    comp_post_no_cl_no_te: Takes(&[""]), "POST / HTTP/1.1\r\nHost: a\r\n\r\n";
    comp_post_cl_undersend: Waits, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello";
    comp_get_with_cl_body: Takes(&["hello", ""]), "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhelloGET / HTTP/1.1\r\nHost: a\r\n\r\n";
    smug_head_cl_body: Takes(&["hello"]), "HEAD / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";
    smug_options_cl_body: Takes(&["hello"]), "OPTIONS / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";
    comp_trace_with_body: Refuses(400), "TRACE / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";
    rfc9112_6_1_cl_non_numeric: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: abc\r\n\r\n";
    rfc9112_6_1_cl_plus_sign: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\nhello";
    smug_cl_empty: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\nhello";
    smug_cl_negative: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n";
    smug_cl_negative_zero: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -0\r\n\r\n";
    smug_cl_octal: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0o5\r\n\r\nhello";
    smug_cl_hex_prefix: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x5\r\n\r\nhello";
    smug_cl_underscore: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1_0\r\n\r\nhelloworld";
    smug_cl_internal_space: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1 0\r\n\r\nhello12345";
    smug_cl_trailing_space: Takes(&["hello"]), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5 \r\n\r\nhello";
    smug_cl_extra_leading_sp: Takes(&["hello"]), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length:  5\r\n\r\nhello";
    smug_cl_leading_zeros: Takes(&["hello"]), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 005\r\n\r\nhello";
    smug_cl_leading_zeros_octal: Takes(&["helloworld", ""]), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 010\r\n\r\nhelloworldGET / HTTP/1.1\r\nHost: a\r\n\r\n";
    smug_duplicate_cl: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 10\r\n\r\nhelloworld";
    smug_duplicate_cl_same: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello";
    smug_cl_comma_different: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 10\r\n\r\nhello";
    smug_cl_comma_same: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n\r\nhello";
    smug_cl_comma_triple: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5, 5\r\n\r\nhello";
    mal_cl_overflow: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n";
    mal_cl_too_large: Refuses(413), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551615\r\n\r\n";

    // Transfer-Encoding: RFC 9112, sections 6.1 and 6.3.
    smug_cl_te_both: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 23\r\nTransfer-Encoding: chunked\r\n\r\nD\r\nhello-bananas\r\n0\r\n\r\n";
    smug_tecl_pipeline: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 30\r\n\r\n0\r\n\r\n";
    smug_clte_smuggled_get: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 30\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n";
    smug_te_xchunked: Refuses(501), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\nContent-Length: 5\r\n\r\nhello";
    smug_te_trailing_space: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked \r\nContent-Length: 5\r\n\r\nhello";
    smug_te_sp_before_colon: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\nContent-Length: 5\r\n\r\nhello";
    smug_te_double_chunked: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    smug_te_case_mismatch: Takes(&["hello"]), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    smug_te_not_final_chunked: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n";
    smug_te_gzip_chunked: Refuses(501), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n";
    smug_te_http10: Refuses(400), "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    smug_te_empty_value: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \r\nContent-Length: 5\r\n\r\nhello";
    smug_te_leading_comma: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: , chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    smug_te_trailing_comma: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked,\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    smug_te_duplicate_headers: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n";
    smug_te_identity: Refuses(501), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello";
    comp_unknown_te_501: Refuses(501), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n";
    smug_chunked_with_params: Refuses(501), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked;ext=val\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    smug_te_vtab: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \u{b}chunked\r\nContent-Length: 5\r\n\r\nhello";
    smug_te_formfeed: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \u{c}chunked\r\nContent-Length: 5\r\n\r\nhello";
    smug_te_null: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\0\r\nContent-Length: 5\r\n\r\nhello";
    smug_te_obs_fold: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n chunked\r\nContent-Length: 5\r\n\r\nhello";
    smug_te_tab_before_value: Takes(&["hello"]), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\tchunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    smug_transfer_encoding_underscore: Takes(&["hello"]), "POST / HTTP/1.1\r\nHost: a\r\nTransfer_Encoding: chunked\r\nContent-Length: 5\r\n\r\nhello";

    // The chunked coding: RFC 9112, section 7.1.
    comp_chunked_body: Takes(&["hello"]), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    comp_chunked_multi: Takes(&["hello world"]), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n";
    comp_chunked_empty: Takes(&[""]), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    comp_chunked_no_final: Waits, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n";
    comp_chunked_hex_uppercase: Takes(&["helloworld"]), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nA\r\nhelloworld\r\n0\r\n\r\n";
    comp_chunked_leading_zeros: Takes(&["hello"]), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0005\r\nhello\r\n00\r\n\r\n";
    comp_chunked_extension: Takes(&["hello"]), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;ext=value\r\nhello\r\n0\r\n\r\n";
    comp_chunked_extension_quoted: Takes(&["hello"]), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5 ; a = \"q;\\\"\u{e9}\" ;b\r\nhello\r\n0;c\r\n\r\n";
    comp_chunked_trailer_valid: Takes(&["hello"]), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Checksum: abc\r\n\r\n";
    comp_chunked_then_another: Takes(&["hello", ""]), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Checksum: abc\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n";
    smug_chunk_bare_semicolon: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;\r\nhello\r\n0\r\n\r\n";
    smug_chunk_ext_invalid_token: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;bad[=x\r\nhello\r\n0\r\n\r\n";
    smug_chunk_ext_lf: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;\nhello\r\n0\r\n\r\n";
    smug_chunk_ext_ctrl: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;\0ext\r\nhello\r\n0\r\n\r\n";
    smug_chunk_ext_cr: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;a\rX\r\nhello\r\n0\r\n\r\n";
    smug_chunk_underscore: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1_0\r\nhello world!!!!!\r\n0\r\n\r\n";
    smug_chunk_hex_prefix: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n";
    smug_chunk_size_plus: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n+5\r\nhello\r\n0\r\n\r\n";
    smug_chunk_negative: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\nhello\r\n0\r\n\r\n";
    smug_chunk_leading_sp: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n 5\r\nhello\r\n0\r\n\r\n";
    smug_chunk_size_trailing_ows: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5 \r\nhello\r\n0\r\n\r\n";
    smug_chunk_size_empty: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\r\nhello\r\n0\r\n\r\n";
    mal_chunk_size_overflow: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF0\r\nhello\r\n0\r\n\r\n";
    mal_chunk_size_too_large: Refuses(413), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\nhello\r\n0\r\n\r\n";
    smug_chunk_missing_trailing_crlf: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello0\r\n\r\n";
    smug_chunk_spill: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello!!\r\n0\r\n\r\n";
    smug_chunk_lf_term: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\n0\r\n\r\n";
    smug_chunk_lf_size: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n";
    smug_chunk_bare_cr_term: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\rhello\r\n0\r\n\r\n";
    smug_chunk_any_two_bytes_term: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloXX0\r\n\r\n";
    smug_chunk_lf_trailer: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\n";
    smug_trailer_cl: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nContent-Length: 50\r\n\r\n";
    smug_trailer_te: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n";
    smug_trailer_host: Refuses(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nHost: evil.example.com\r\n\r\n";
    smug_trailer_auth: Takes(&["hello"]), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nAuthorization: Bearer evil\r\n\r\n";

    // Expect: RFC 9110, section 10.1.1.
    smug_expect_100_cl: Takes(&["hello"]), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhello";
    comp_expect_unknown: Refuses(417), "GET / HTTP/1.1\r\nHost: a\r\nExpect: 200-ok\r\n\r\n";
    comp_expect_unknown_http10: Takes(&[""]), "GET / HTTP/1.0\r\nHost: a\r\nExpect: 200-ok\r\n\r\n";
}

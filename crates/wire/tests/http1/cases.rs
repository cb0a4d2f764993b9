//! Requests that have broken servers. Each is a test named after its public id (Http11Probe, h1spec); the split and
//! differential tests use the same table.

use brunt_wire::http1::Limits;

use crate::common::{Verdict, serve, verdict};

/// One case of the table.
#[derive(Debug, Clone, Copy)]
pub struct Case {
    pub name: &'static str,
    pub bytes: &'static [u8],
    pub expected: Expected,
}

/// The expected verdict.
#[derive(Debug, Clone, Copy)]
pub enum Expected {
    /// Requests with these bodies.
    Accepts(&'static [&'static str]),
    Rejects(u16),
    Waits,
}

impl Expected {
    pub fn verdict(self) -> Verdict {
        match self {
            Expected::Accepts(bodies) => Verdict::Accepts(bodies.iter().map(|body| body.as_bytes().to_vec()).collect()),
            Expected::Rejects(status) => Verdict::Rejects(status),
            Expected::Waits => Verdict::Waits,
        }
    }
}

macro_rules! cases {
    ($($name:ident: $expected:expr, $($part:literal),+;)*) => {
        pub const ALL: &[Case] = &[$(Case {
            name: stringify!($name),
            bytes: concat!($($part),+).as_bytes(),
            expected: $expected,
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
    assert_eq!(verdict(&seen), case.expected.verdict(), "{seen:?}");
}

use Expected::{Accepts, Rejects, Waits};

cases! {
    // The request line: RFC 9112, section 3.
    comp_baseline: Accepts(&[""]), "GET / HTTP/1.1\r\nHost: localhost:8080\r\n\r\n";
    rfc9112_3_multi_sp_request_line: Rejects(400), "GET  / HTTP/1.1\r\nHost: a\r\n\r\n";
    rfc9112_3_missing_target: Rejects(400), "GET HTTP/1.1\r\nHost: a\r\n\r\n";
    rfc9112_3_2_fragment_in_target: Rejects(400), "GET /path#frag HTTP/1.1\r\nHost: a\r\n\r\n";
    rfc9112_2_3_http09_request: Rejects(400), "GET /\r\n";
    rfc9112_2_3_invalid_version: Rejects(505), "GET / HTTP/9.9\r\nHost: a\r\n\r\n";
    comp_version_2: Rejects(505), "GET / HTTP/2.0\r\nHost: a\r\n\r\n";
    comp_http12_version: Accepts(&[""]), "GET / HTTP/1.2\r\nHost: a\r\n\r\n";
    comp_version_missing_minor: Rejects(400), "GET / HTTP/1\r\nHost: a\r\n\r\n";
    comp_version_leading_zeros: Rejects(400), "GET / HTTP/01.01\r\nHost: a\r\n\r\n";
    comp_version_whitespace: Rejects(400), "GET / HTTP/ 1.1\r\nHost: a\r\n\r\n";
    comp_version_case: Rejects(400), "GET / http/1.1\r\nHost: a\r\n\r\n";
    comp_request_line_tab: Rejects(400), "GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n";
    comp_space_in_target: Rejects(400), "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n";
    comp_method_case: Accepts(&[""]), "get / HTTP/1.1\r\nHost: a\r\n\r\n";
    comp_unknown_method: Accepts(&[""]), "FROBNICATE / HTTP/1.1\r\nHost: a\r\n\r\n";
    mal_method_not_a_token: Rejects(400), "GE(T / HTTP/1.1\r\nHost: a\r\n\r\n";
    mal_nul_in_url: Rejects(400), "GET /\0test HTTP/1.1\r\nHost: a\r\n\r\n";
    mal_non_ascii_url: Rejects(400), "GET /caf\u{e9} HTTP/1.1\r\nHost: a\r\n\r\n";
    mal_whitespace_only_line: Rejects(400), "   \r\n\r\n";
    mal_binary_garbage: Rejects(400), "\u{16}\u{3}\u{1}\u{2}\0\u{1}\0\u{1}\u{fc}\u{3}\u{3}";
    mal_empty_request: Waits, "";
    mal_incomplete_request: Waits, "GET / HTTP/1.1\r\nHost: a\r\nX-Test: value";

    // The four forms of a target: RFC 9112, section 3.2.
    comp_absolute_form: Accepts(&[""]), "GET http://localhost:8080/ HTTP/1.1\r\nHost: localhost:8080\r\n\r\n";
    comp_absolute_form_other_scheme: Rejects(400), "GET ftp://localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n";
    comp_absolute_form_userinfo: Rejects(400), "GET http://me@localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n";
    smug_absolute_uri_host_mismatch: Accepts(&[""]), "GET http://other.example.com/ HTTP/1.1\r\nHost: localhost\r\n\r\n";
    comp_options_star: Accepts(&[""]), "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n";
    comp_asterisk_with_get: Rejects(400), "GET * HTTP/1.1\r\nHost: a\r\n\r\n";
    comp_method_connect: Accepts(&[""]), "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n";
    comp_connect_origin_form: Rejects(400), "CONNECT / HTTP/1.1\r\nHost: a\r\n\r\n";
    comp_connect_without_port: Rejects(400), "CONNECT example.com HTTP/1.1\r\nHost: a\r\n\r\n";
    comp_authority_form_with_get: Rejects(400), "GET example.com:443 HTTP/1.1\r\nHost: a\r\n\r\n";

    // Host: RFC 9112, section 3.2.
    rfc9112_7_1_missing_host: Rejects(400), "GET / HTTP/1.1\r\n\r\n";
    rfc9110_5_4_duplicate_host: Rejects(400), "GET / HTTP/1.1\r\nHost: a\r\nHost: other.example.com\r\n\r\n";
    comp_duplicate_host_same: Rejects(400), "GET / HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n";
    comp_host_empty_value: Rejects(400), "GET / HTTP/1.1\r\nHost: \r\n\r\n";
    comp_host_with_path: Rejects(400), "GET / HTTP/1.1\r\nHost: localhost/path\r\n\r\n";
    comp_host_with_userinfo: Rejects(400), "GET / HTTP/1.1\r\nHost: user@localhost\r\n\r\n";
    comp_host_ipv6: Accepts(&[""]), "GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n";
    comp_host_ipv6_open: Rejects(400), "GET / HTTP/1.1\r\nHost: [::1\r\n\r\n";
    comp_host_port_not_a_number: Rejects(400), "GET / HTTP/1.1\r\nHost: a:80b\r\n\r\n";
    smug_multiple_host_comma: Rejects(400), "GET / HTTP/1.1\r\nHost: localhost:8080, other.example.com\r\n\r\n";
    comp_http10_no_host: Accepts(&[""]), "GET / HTTP/1.0\r\n\r\n";
    comp_http10_two_hosts: Rejects(400), "GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n";

    // Line ends: RFC 9112, section 2.2.
    rfc9112_2_2_bare_lf_request_line: Rejects(400), "GET / HTTP/1.1\nHost: a\r\n\r\n";
    rfc9112_2_2_bare_lf_header: Rejects(400), "GET / HTTP/1.1\r\nHost: a\nX-Test: value\r\n\r\n";
    rfc9112_2_2_bare_lf_last_header: Rejects(400), "GET / HTTP/1.1\r\nHost: a\n\r\n";
    rfc9112_2_2_bare_lf_empty_line: Rejects(400), "GET / HTTP/1.1\r\nHost: a\r\n\n";
    rfc9112_3_cr_only_line_ending: Rejects(400), "GET / HTTP/1.1\rHost: a\r\n\r\n";
    smug_bare_cr_header_value: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nX-Test: val\rue\r\n\r\nhello";
    comp_leading_crlf: Accepts(&[""]), "\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n";
    comp_leading_bare_lf: Rejects(400), "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n";
    comp_leading_bare_lf_in_pairs: Rejects(400), "\n\nGET / HTTP/1.1\r\nHost: a\r\n\r\n";
    comp_crlf_behind_a_body: Accepts(&["hello", ""]), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n";

    // Field lines: RFC 9112, section 5.
    rfc9112_5_1_obs_fold: Rejects(400), "GET / HTTP/1.1\r\nHost: a\r\nX-Test: value\r\n continued\r\n\r\n";
    rfc9110_5_6_2_sp_before_colon: Rejects(400), "GET / HTTP/1.1\r\nHost: a\r\nX-Test : value\r\n\r\n";
    rfc9112_5_empty_header_name: Rejects(400), "GET / HTTP/1.1\r\nHost: a\r\n: empty-name\r\n\r\n";
    rfc9112_5_invalid_header_name: Rejects(400), "GET / HTTP/1.1\r\nHost: a\r\nBad[Name: value\r\n\r\n";
    rfc9112_5_header_no_colon: Rejects(400), "GET / HTTP/1.1\r\nHost: a\r\nNoColonHere\r\n\r\n";
    comp_whitespace_before_headers: Rejects(400), "GET / HTTP/1.1\r\n \r\nHost: a\r\n\r\n";
    mal_control_chars_header: Rejects(400), "GET / HTTP/1.1\r\nHost: a\r\nX-Test: abc\u{7}\u{8}\u{b}def\r\n\r\n";
    mal_nul_in_header: Rejects(400), "GET / HTTP/1.1\r\nHost: a\r\nX-Test: a\0b\r\n\r\n";
    mal_non_ascii_header_name: Rejects(400), "GET / HTTP/1.1\r\nHost: a\r\nX-T\u{eb}st: value\r\n\r\n";
    comp_obs_text_header_value: Accepts(&[""]), "GET / HTTP/1.1\r\nHost: a\r\nX-Test: caf\u{e9}\r\n\r\n";
    comp_header_without_value: Accepts(&[""]), "GET / HTTP/1.1\r\nHost: a\r\nX-Test:\r\n\r\n";

    // Content-Length: RFC 9110, section 8.6; RFC 9112, section 6.3.
    comp_post_cl_body: Accepts(&["hello"]), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";
    comp_post_cl_zero: Accepts(&[""]), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n";
    comp_post_no_cl_no_te: Accepts(&[""]), "POST / HTTP/1.1\r\nHost: a\r\n\r\n";
    comp_post_cl_undersend: Waits, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhello";
    comp_get_with_cl_body: Accepts(&["hello", ""]), "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhelloGET / HTTP/1.1\r\nHost: a\r\n\r\n";
    smug_head_cl_body: Accepts(&["hello"]), "HEAD / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";
    smug_options_cl_body: Accepts(&["hello"]), "OPTIONS / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";
    comp_trace_with_body: Rejects(400), "TRACE / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello";
    rfc9112_6_1_cl_non_numeric: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: abc\r\n\r\n";
    rfc9112_6_1_cl_plus_sign: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +5\r\n\r\nhello";
    smug_cl_empty: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length:\r\n\r\nhello";
    smug_cl_negative: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n";
    smug_cl_negative_zero: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -0\r\n\r\n";
    smug_cl_octal: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0o5\r\n\r\nhello";
    smug_cl_hex_prefix: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0x5\r\n\r\nhello";
    smug_cl_underscore: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1_0\r\n\r\nhelloworld";
    smug_cl_internal_space: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1 0\r\n\r\nhello12345";
    smug_cl_trailing_space: Accepts(&["hello"]), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5 \r\n\r\nhello";
    smug_cl_extra_leading_sp: Accepts(&["hello"]), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length:  5\r\n\r\nhello";
    smug_cl_leading_zeros: Accepts(&["hello"]), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 005\r\n\r\nhello";
    smug_cl_leading_zeros_octal: Accepts(&["helloworld", ""]), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 010\r\n\r\nhelloworldGET / HTTP/1.1\r\nHost: a\r\n\r\n";
    smug_duplicate_cl: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 10\r\n\r\nhelloworld";
    smug_duplicate_cl_same: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nhello";
    smug_cl_comma_different: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 10\r\n\r\nhello";
    smug_cl_comma_same: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5\r\n\r\nhello";
    smug_cl_comma_triple: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5, 5, 5\r\n\r\nhello";
    mal_cl_overflow: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n";
    mal_cl_too_large: Rejects(413), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 18446744073709551615\r\n\r\n";

    // Transfer-Encoding: RFC 9112, sections 6.1 and 6.3.
    smug_cl_te_both: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 23\r\nTransfer-Encoding: chunked\r\n\r\nD\r\nhello-bananas\r\n0\r\n\r\n";
    smug_tecl_pipeline: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Length: 30\r\n\r\n0\r\n\r\n";
    smug_clte_smuggled_get: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 30\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n";
    smug_te_xchunked: Rejects(501), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\nContent-Length: 5\r\n\r\nhello";
    smug_te_trailing_space: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked \r\nContent-Length: 5\r\n\r\nhello";
    smug_te_sp_before_colon: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding : chunked\r\nContent-Length: 5\r\n\r\nhello";
    smug_te_double_chunked: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    smug_te_case_mismatch: Accepts(&["hello"]), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    smug_te_not_final_chunked: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n";
    smug_te_gzip_chunked: Rejects(501), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n";
    smug_te_http10: Rejects(400), "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    smug_te_empty_value: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \r\nContent-Length: 5\r\n\r\nhello";
    smug_te_leading_comma: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: , chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    smug_te_trailing_comma: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked,\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    smug_te_duplicate_headers: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n";
    smug_te_identity: Rejects(501), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: identity\r\nContent-Length: 5\r\n\r\nhello";
    comp_unknown_te_501: Rejects(501), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n";
    smug_chunked_with_params: Rejects(501), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked;ext=val\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    smug_te_vtab: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \u{b}chunked\r\nContent-Length: 5\r\n\r\nhello";
    smug_te_formfeed: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: \u{c}chunked\r\nContent-Length: 5\r\n\r\nhello";
    smug_te_null: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\0\r\nContent-Length: 5\r\n\r\nhello";
    smug_te_obs_fold: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\r\n chunked\r\nContent-Length: 5\r\n\r\nhello";
    smug_te_tab_before_value: Accepts(&["hello"]), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding:\tchunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    smug_transfer_encoding_underscore: Accepts(&["hello"]), "POST / HTTP/1.1\r\nHost: a\r\nTransfer_Encoding: chunked\r\nContent-Length: 5\r\n\r\nhello";

    // The chunked coding: RFC 9112, section 7.1.
    comp_chunked_body: Accepts(&["hello"]), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    comp_chunked_multi: Accepts(&["hello world"]), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n";
    comp_chunked_empty: Accepts(&[""]), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    comp_chunked_no_final: Waits, "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n";
    comp_chunked_hex_uppercase: Accepts(&["helloworld"]), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nA\r\nhelloworld\r\n0\r\n\r\n";
    comp_chunked_leading_zeros: Accepts(&["hello"]), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0005\r\nhello\r\n00\r\n\r\n";
    comp_chunked_extension: Accepts(&["hello"]), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;ext=value\r\nhello\r\n0\r\n\r\n";
    comp_chunked_extension_quoted: Accepts(&["hello"]), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5 ; a = \"q;\\\"\u{e9}\" ;b\r\nhello\r\n0;c\r\n\r\n";
    comp_chunked_trailer_valid: Accepts(&["hello"]), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Checksum: abc\r\n\r\n";
    comp_chunked_then_another: Accepts(&["hello", ""]), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-Checksum: abc\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n";
    smug_chunk_bare_semicolon: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;\r\nhello\r\n0\r\n\r\n";
    smug_chunk_ext_invalid_token: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;bad[=x\r\nhello\r\n0\r\n\r\n";
    smug_chunk_ext_lf: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;\nhello\r\n0\r\n\r\n";
    smug_chunk_ext_ctrl: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;\0ext\r\nhello\r\n0\r\n\r\n";
    smug_chunk_ext_cr: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5;a\rX\r\nhello\r\n0\r\n\r\n";
    smug_chunk_underscore: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1_0\r\nhello world!!!!!\r\n0\r\n\r\n";
    smug_chunk_hex_prefix: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n";
    smug_chunk_size_plus: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n+5\r\nhello\r\n0\r\n\r\n";
    smug_chunk_negative: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\nhello\r\n0\r\n\r\n";
    smug_chunk_leading_sp: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n 5\r\nhello\r\n0\r\n\r\n";
    smug_chunk_size_trailing_ows: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5 \r\nhello\r\n0\r\n\r\n";
    smug_chunk_size_empty: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\r\nhello\r\n0\r\n\r\n";
    mal_chunk_size_overflow: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF0\r\nhello\r\n0\r\n\r\n";
    mal_chunk_size_too_large: Rejects(413), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF\r\nhello\r\n0\r\n\r\n";
    smug_chunk_missing_trailing_crlf: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello0\r\n\r\n";
    smug_chunk_spill: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello!!\r\n0\r\n\r\n";
    smug_chunk_lf_term: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\n0\r\n\r\n";
    smug_chunk_lf_size: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\nhello\r\n0\r\n\r\n";
    smug_chunk_bare_cr_term: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\rhello\r\n0\r\n\r\n";
    smug_chunk_any_two_bytes_term: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloXX0\r\n\r\n";
    smug_chunk_lf_trailer: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\n";
    smug_trailer_cl: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nContent-Length: 50\r\n\r\n";
    smug_trailer_te: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n";
    smug_trailer_host: Rejects(400), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nHost: evil.example.com\r\n\r\n";
    smug_trailer_auth: Accepts(&["hello"]), "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nAuthorization: Bearer evil\r\n\r\n";

    // Expect: RFC 9110, section 10.1.1.
    smug_expect_100_cl: Accepts(&["hello"]), "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhello";
    comp_expect_unknown: Rejects(417), "GET / HTTP/1.1\r\nHost: a\r\nExpect: 200-ok\r\n\r\n";
    comp_expect_unknown_http10: Accepts(&[""]), "GET / HTTP/1.0\r\nHost: a\r\nExpect: 200-ok\r\n\r\n";
}

//! Known differences from other parsers, with reasons.

use crate::differential::OtherVerdict::{self, Accepts, Rejects, Waits};

/// Cases that differ for one reason, and the verdicts of other parsers.
pub struct Difference {
    pub why: &'static str,
    pub cases: &'static [(&'static str, &'static [(&'static str, OtherVerdict)])],
}

pub const ALL: &[Difference] = &[
    Difference {
        why: "RFC 9112, 3.2: others leave the form of a target to the application",
        cases: &[
            (
                "comp_absolute_form_other_scheme",
                &[("go", Accepts), ("h11", Accepts), ("hyper", Accepts), ("node", Accepts)],
            ),
            (
                "comp_absolute_form_userinfo",
                &[("go", Accepts), ("h11", Accepts), ("hyper", Accepts), ("node", Accepts)],
            ),
            ("comp_asterisk_with_get", &[("go", Accepts), ("h11", Accepts), ("hyper", Accepts), ("node", Accepts)]),
            ("comp_authority_form_with_get", &[("go", Accepts), ("h11", Accepts), ("hyper", Accepts)]),
            ("comp_connect_origin_form", &[("go", Accepts), ("h11", Accepts), ("hyper", Accepts), ("node", Accepts)]),
            ("comp_connect_without_port", &[("go", Accepts), ("h11", Accepts), ("hyper", Accepts), ("node", Accepts)]),
            (
                "rfc9112_3_2_fragment_in_target",
                &[("go", Accepts), ("h11", Accepts), ("hyper", Accepts), ("node", Accepts)],
            ),
            ("mal_non_ascii_url", &[("go", Accepts), ("hyper", Accepts)]),
        ],
    },
    Difference {
        why: "RFC 9112, 3.2, requires 400; others leave some or all checks of Host to the application",
        cases: &[
            ("rfc9112_7_1_missing_host", &[("hyper", Accepts)]),
            ("rfc9110_5_4_duplicate_host", &[("hyper", Accepts), ("node", Accepts)]),
            ("comp_duplicate_host_same", &[("hyper", Accepts), ("node", Accepts)]),
            ("comp_http10_two_hosts", &[("hyper", Accepts), ("node", Accepts)]),
            ("comp_host_empty_value", &[("go", Accepts), ("h11", Accepts), ("hyper", Accepts), ("node", Accepts)]),
            ("comp_host_ipv6_open", &[("go", Accepts), ("h11", Accepts), ("hyper", Accepts), ("node", Accepts)]),
            (
                "comp_host_port_not_a_number",
                &[("go", Accepts), ("h11", Accepts), ("hyper", Accepts), ("node", Accepts)],
            ),
            ("comp_host_with_path", &[("h11", Accepts), ("hyper", Accepts), ("node", Accepts)]),
            ("comp_host_with_userinfo", &[("h11", Accepts), ("hyper", Accepts), ("node", Accepts)]),
            ("smug_multiple_host_comma", &[("h11", Accepts), ("hyper", Accepts), ("node", Accepts)]),
        ],
    },
    Difference {
        why: "RFC 9112, 2.2, permits a bare LF as line end; parsers that differ in this see different messages",
        cases: &[
            ("comp_leading_bare_lf", &[("hyper", Accepts), ("node", Accepts)]),
            ("comp_leading_bare_lf_in_pairs", &[("hyper", Accepts), ("node", Accepts)]),
            ("rfc9112_2_2_bare_lf_empty_line", &[("go", Accepts), ("h11", Accepts), ("hyper", Accepts)]),
            ("rfc9112_2_2_bare_lf_header", &[("go", Accepts), ("h11", Accepts), ("hyper", Accepts)]),
            ("rfc9112_2_2_bare_lf_last_header", &[("go", Accepts), ("h11", Accepts), ("hyper", Accepts)]),
            ("rfc9112_2_2_bare_lf_request_line", &[("go", Accepts), ("h11", Accepts), ("hyper", Accepts)]),
            ("smug_chunk_lf_trailer", &[("h11", Accepts), ("hyper", Waits)]),
        ],
    },
    Difference {
        why: "RFC 9112, 2.2: a server SHOULD ignore empty lines before a request line; others ignore fewer, or none",
        cases: &[
            ("comp_leading_crlf", &[("go", Rejects), ("h11", Rejects)]),
            ("comp_crlf_behind_a_body", &[("h11", Rejects)]),
        ],
    },
    Difference {
        why: "RFC 9112, 5.2, permits unfolding and rejecting; unfolding allows request smuggling",
        cases: &[
            ("rfc9112_5_1_obs_fold", &[("go", Accepts), ("h11", Accepts)]),
            ("smug_te_obs_fold", &[("go", Waits), ("h11", Waits)]),
        ],
    },
    Difference {
        why: "RFC 9112, 6.3, rule 3: ought to be handled as an error; for others Transfer-Encoding takes precedence",
        cases: &[
            ("smug_cl_te_both", &[("go", Accepts), ("h11", Accepts), ("hyper", Accepts)]),
            ("smug_clte_smuggled_get", &[("go", Accepts), ("h11", Accepts), ("hyper", Accepts)]),
            ("smug_tecl_pipeline", &[("go", Accepts), ("h11", Accepts), ("hyper", Accepts)]),
            ("smug_te_trailing_space", &[("go", Waits), ("h11", Waits)]),
        ],
    },
    Difference {
        why: "RFC 9112, 6.3, rule 5, permits equal lengths; two lengths are a mistake or an attack",
        cases: &[
            ("smug_duplicate_cl_same", &[("go", Accepts), ("h11", Accepts), ("hyper", Accepts)]),
            ("smug_cl_comma_same", &[("h11", Accepts)]),
            ("smug_cl_comma_triple", &[("h11", Accepts)]),
        ],
    },
    Difference {
        why: "RFC 9112, 6.1: anything but `chunked` alone is an unknown coding, or a list that parsers read differently",
        cases: &[
            ("smug_te_double_chunked", &[("hyper", Accepts)]),
            ("smug_te_empty_value", &[("node", Accepts)]),
            ("smug_te_gzip_chunked", &[("hyper", Accepts), ("node", Accepts)]),
            ("smug_te_leading_comma", &[("hyper", Accepts), ("node", Accepts)]),
            ("smug_te_http10", &[("go", Accepts), ("h11", Accepts), ("node", Accepts)]),
        ],
    },
    Difference {
        why: "RFC 9112, 7.1.1: others skip extensions, or the rest of a size line, without validation",
        cases: &[
            ("smug_chunk_bare_semicolon", &[("go", Accepts), ("h11", Accepts), ("hyper", Accepts)]),
            ("smug_chunk_ext_cr", &[("h11", Accepts)]),
            ("smug_chunk_ext_ctrl", &[("go", Accepts), ("h11", Accepts), ("hyper", Accepts)]),
            ("smug_chunk_ext_invalid_token", &[("go", Accepts), ("h11", Accepts), ("hyper", Accepts)]),
            ("smug_chunk_size_trailing_ows", &[("go", Accepts), ("h11", Accepts), ("hyper", Accepts)]),
        ],
    },
    Difference {
        why: "RFC 9112, 7.1.1: quoted values, obs-text and white space in extensions are in the grammar; others accept less",
        cases: &[("comp_chunked_extension_quoted", &[("go", Rejects), ("h11", Rejects), ("node", Rejects)])],
    },
    Difference {
        why: "RFC 9110, 6.5.1: trailer fields that frame or route may be ignored; rejected here",
        cases: &[
            ("smug_trailer_cl", &[("go", Accepts), ("h11", Accepts), ("hyper", Accepts)]),
            ("smug_trailer_host", &[("go", Accepts), ("h11", Accepts), ("hyper", Accepts), ("node", Accepts)]),
            ("smug_trailer_te", &[("go", Accepts), ("h11", Accepts), ("hyper", Accepts)]),
        ],
    },
    Difference {
        why: "others have no limit on bodies, and wait for one whose length does not fit in 64 bits",
        cases: &[
            ("mal_chunk_size_overflow", &[("h11", Waits)]),
            ("mal_chunk_size_too_large", &[("go", Waits), ("h11", Waits), ("hyper", Waits), ("node", Waits)]),
            ("mal_cl_overflow", &[("h11", Waits)]),
            ("mal_cl_too_large", &[("h11", Waits), ("node", Waits)]),
        ],
    },
    Difference {
        why: "RFC 9110, 2.5 and 15.6.6: a later minor version is treated as the latest known, another major version is 505",
        cases: &[
            ("comp_http12_version", &[("hyper", Rejects), ("node", Rejects)]),
            ("comp_version_2", &[("h11", Accepts), ("node", Accepts)]),
            ("rfc9112_2_3_invalid_version", &[("h11", Accepts)]),
        ],
    },
    Difference {
        why: "RFC 9110, 9.1: a method is any token; llhttp has a list of them",
        cases: &[("comp_method_case", &[("node", Rejects)]), ("comp_unknown_method", &[("node", Rejects)])],
    },
    Difference {
        why: "RFC 9110, 9.3.8: a client MUST NOT send content with TRACE",
        cases: &[("comp_trace_with_body", &[("go", Accepts), ("h11", Accepts), ("hyper", Accepts), ("node", Accepts)])],
    },
    Difference {
        why: "RFC 9110, 10.1.1: 417 is optional, and expectations in HTTP/1.0 are ignored",
        cases: &[
            ("comp_expect_unknown", &[("h11", Accepts), ("hyper", Accepts)]),
            ("comp_expect_unknown_http10", &[("go", Rejects)]),
        ],
    },
    Difference {
        why: "net/http answers `OPTIONS *` itself: its handler sees no request",
        cases: &[("comp_options_star", &[("go", Waits)])],
    },
    Difference {
        why: "RFC 9112, 8: a request truncated by the end of input is incomplete; net/http rejects it as malformed",
        cases: &[("mal_incomplete_request", &[("go", Rejects)])],
    },
    Difference {
        why: "RFC 9112, 3: others wait for more of a line that can no longer become a request line",
        cases: &[("rfc9112_2_3_http09_request", &[("h11", Waits), ("node", Waits)])],
    },
    Difference {
        why: "RFC 9112, 3: a request line has single spaces",
        cases: &[("rfc9112_3_multi_sp_request_line", &[("node", Accepts)])],
    },
];

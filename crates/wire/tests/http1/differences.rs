//! The known differences: what others do, and why we do not. Where they are stricter, the reason says why we need not be.

use crate::differential::Theirs::{self, Refuses, Takes, Waits};

/// Cases that differ for one reason, and what which parser does with them.
pub struct Difference {
    pub why: &'static str,
    pub cases: &'static [(&'static str, &'static [(&'static str, Theirs)])],
}

pub const ALL: &[Difference] = &[
    Difference {
        why: "RFC 9112, 3.2: they leave the form of a target to the application; ours has none that could look at it",
        cases: &[
            ("comp_absolute_form_other_scheme", &[("go", Takes), ("h11", Takes), ("hyper", Takes), ("node", Takes)]),
            ("comp_absolute_form_userinfo", &[("go", Takes), ("h11", Takes), ("hyper", Takes), ("node", Takes)]),
            ("comp_asterisk_with_get", &[("go", Takes), ("h11", Takes), ("hyper", Takes), ("node", Takes)]),
            ("comp_authority_form_with_get", &[("go", Takes), ("h11", Takes), ("hyper", Takes)]),
            ("comp_connect_origin_form", &[("go", Takes), ("h11", Takes), ("hyper", Takes), ("node", Takes)]),
            ("comp_connect_without_port", &[("go", Takes), ("h11", Takes), ("hyper", Takes), ("node", Takes)]),
            ("rfc9112_3_2_fragment_in_target", &[("go", Takes), ("h11", Takes), ("hyper", Takes), ("node", Takes)]),
            ("mal_non_ascii_url", &[("go", Takes), ("hyper", Takes)]),
        ],
    },
    Difference {
        why: "RFC 9112, 3.2, demands 400 of a server; they leave some or all of Host to the application",
        cases: &[
            ("rfc9112_7_1_missing_host", &[("hyper", Takes)]),
            ("rfc9110_5_4_duplicate_host", &[("hyper", Takes), ("node", Takes)]),
            ("comp_duplicate_host_same", &[("hyper", Takes), ("node", Takes)]),
            ("comp_http10_two_hosts", &[("hyper", Takes), ("node", Takes)]),
            ("comp_host_empty_value", &[("go", Takes), ("h11", Takes), ("hyper", Takes), ("node", Takes)]),
            ("comp_host_ipv6_open", &[("go", Takes), ("h11", Takes), ("hyper", Takes), ("node", Takes)]),
            ("comp_host_port_not_a_number", &[("go", Takes), ("h11", Takes), ("hyper", Takes), ("node", Takes)]),
            ("comp_host_with_path", &[("h11", Takes), ("hyper", Takes), ("node", Takes)]),
            ("comp_host_with_userinfo", &[("h11", Takes), ("hyper", Takes), ("node", Takes)]),
            ("smug_multiple_host_comma", &[("h11", Takes), ("hyper", Takes), ("node", Takes)]),
        ],
    },
    Difference {
        why: "RFC 9112, 2.2, lets a bare LF pass for a line end; who reads it otherwise sees another message",
        cases: &[
            ("comp_leading_bare_lf", &[("hyper", Takes), ("node", Takes)]),
            ("comp_leading_bare_lf_in_pairs", &[("hyper", Takes), ("node", Takes)]),
            ("rfc9112_2_2_bare_lf_empty_line", &[("go", Takes), ("h11", Takes), ("hyper", Takes)]),
            ("rfc9112_2_2_bare_lf_header", &[("go", Takes), ("h11", Takes), ("hyper", Takes)]),
            ("rfc9112_2_2_bare_lf_last_header", &[("go", Takes), ("h11", Takes), ("hyper", Takes)]),
            ("rfc9112_2_2_bare_lf_request_line", &[("go", Takes), ("h11", Takes), ("hyper", Takes)]),
            ("smug_chunk_lf_trailer", &[("h11", Takes), ("hyper", Waits)]),
        ],
    },
    Difference {
        why: "RFC 9112, 2.2: a server SHOULD ignore empty lines before a request line; they ignore fewer, or none",
        cases: &[
            ("comp_leading_crlf", &[("go", Refuses), ("h11", Refuses)]),
            ("comp_crlf_behind_a_body", &[("h11", Refuses)]),
        ],
    },
    Difference {
        why: "RFC 9112, 5.2: unfolding is permitted, refusing as well; unfolded fields are where smugglers live",
        cases: &[
            ("rfc9112_5_1_obs_fold", &[("go", Takes), ("h11", Takes)]),
            ("smug_te_obs_fold", &[("go", Waits), ("h11", Waits)]),
        ],
    },
    Difference {
        why: "RFC 9112, 6.3, rule 3: it ought to be handled as an error; they let Transfer-Encoding win, then wait for its chunks",
        cases: &[
            ("smug_cl_te_both", &[("go", Takes), ("h11", Takes), ("hyper", Takes)]),
            ("smug_clte_smuggled_get", &[("go", Takes), ("h11", Takes), ("hyper", Takes)]),
            ("smug_tecl_pipeline", &[("go", Takes), ("h11", Takes), ("hyper", Takes)]),
            ("smug_te_trailing_space", &[("go", Waits), ("h11", Waits)]),
        ],
    },
    Difference {
        why: "RFC 9112, 6.3, rule 5, lets equal lengths pass; two lengths are an accident or an attack",
        cases: &[
            ("smug_duplicate_cl_same", &[("go", Takes), ("h11", Takes), ("hyper", Takes)]),
            ("smug_cl_comma_same", &[("h11", Takes)]),
            ("smug_cl_comma_triple", &[("h11", Takes)]),
        ],
    },
    Difference {
        why: "RFC 9112, 6.1: anything but `chunked` alone is a coding that is not understood, or a list that others read otherwise",
        cases: &[
            ("smug_te_double_chunked", &[("hyper", Takes)]),
            ("smug_te_empty_value", &[("node", Takes)]),
            ("smug_te_gzip_chunked", &[("hyper", Takes), ("node", Takes)]),
            ("smug_te_leading_comma", &[("hyper", Takes), ("node", Takes)]),
            ("smug_te_http10", &[("go", Takes), ("h11", Takes), ("node", Takes)]),
        ],
    },
    Difference {
        why: "RFC 9112, 7.1.1: they skip extensions, or the rest of a size line, without reading them",
        cases: &[
            ("smug_chunk_bare_semicolon", &[("go", Takes), ("h11", Takes), ("hyper", Takes)]),
            ("smug_chunk_ext_cr", &[("h11", Takes)]),
            ("smug_chunk_ext_ctrl", &[("go", Takes), ("h11", Takes), ("hyper", Takes)]),
            ("smug_chunk_ext_invalid_token", &[("go", Takes), ("h11", Takes), ("hyper", Takes)]),
            ("smug_chunk_size_trailing_ows", &[("go", Takes), ("h11", Takes), ("hyper", Takes)]),
        ],
    },
    Difference {
        why: "RFC 9112, 7.1.1: quoted values, obs-text and bad white space in extensions are grammar; they take less of it",
        cases: &[("comp_chunked_extension_quoted", &[("go", Refuses), ("h11", Refuses), ("node", Refuses)])],
    },
    Difference {
        why: "RFC 9110, 6.5.1: trailer fields that frame or route may be ignored; ours are refused",
        cases: &[
            ("smug_trailer_cl", &[("go", Takes), ("h11", Takes), ("hyper", Takes)]),
            ("smug_trailer_host", &[("go", Takes), ("h11", Takes), ("hyper", Takes), ("node", Takes)]),
            ("smug_trailer_te", &[("go", Takes), ("h11", Takes), ("hyper", Takes)]),
        ],
    },
    Difference {
        why: "they have no limit on a body, and wait for all of it, though its length does not fit in 64 bits",
        cases: &[
            ("mal_chunk_size_overflow", &[("h11", Waits)]),
            ("mal_chunk_size_too_large", &[("go", Waits), ("h11", Waits), ("hyper", Waits), ("node", Waits)]),
            ("mal_cl_overflow", &[("h11", Waits)]),
            ("mal_cl_too_large", &[("h11", Waits), ("node", Waits)]),
        ],
    },
    Difference {
        why: "RFC 9110, 2.5 and 15.6.6: a later minor version is understood as the latest known, another major version is 505",
        cases: &[
            ("comp_http12_version", &[("hyper", Refuses), ("node", Refuses)]),
            ("comp_version_2", &[("h11", Takes), ("node", Takes)]),
            ("rfc9112_2_3_invalid_version", &[("h11", Takes)]),
        ],
    },
    Difference {
        why: "RFC 9110, 9.1: methods are any token; llhttp has a list of them",
        cases: &[("comp_method_case", &[("node", Refuses)]), ("comp_unknown_method", &[("node", Refuses)])],
    },
    Difference {
        why: "RFC 9110, 9.3.8: a client MUST NOT send content with TRACE",
        cases: &[("comp_trace_with_body", &[("go", Takes), ("h11", Takes), ("hyper", Takes), ("node", Takes)])],
    },
    Difference {
        why: "RFC 9110, 10.1.1: 417 is optional, and an expectation in HTTP/1.0 means nothing",
        cases: &[
            ("comp_expect_unknown", &[("h11", Takes), ("hyper", Takes)]),
            ("comp_expect_unknown_http10", &[("go", Refuses)]),
        ],
    },
    Difference {
        why: "net/http answers `OPTIONS *` itself: its handler sees no request",
        cases: &[("comp_options_star", &[("go", Waits)])],
    },
    Difference {
        why: "RFC 9112, 8: a request cut off by the end of input is incomplete; net/http calls it a bad one",
        cases: &[("mal_incomplete_request", &[("go", Refuses)])],
    },
    Difference {
        why: "RFC 9112, 3: they wait for more of a line that can no longer become a request line",
        cases: &[("rfc9112_2_3_http09_request", &[("h11", Waits), ("node", Waits)])],
    },
    Difference {
        why: "RFC 9112, 3: a request line has single spaces",
        cases: &[("rfc9112_3_multi_sp_request_line", &[("node", Takes)])],
    },
];

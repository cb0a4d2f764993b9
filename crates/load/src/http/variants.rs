//! Variants of requests (`--vary`), so that a target cannot answer all from one cached reply.
//!
//! Each variant has a token, in a query parameter `vary`, in a cookie of that name, and in place of each `{vary}` of the
//! path. Tokens follow from the seed and have one length, so all variants of a URL are equally long.

use super::{RequestTarget, Template};
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

const PLACEHOLDER: &str = "{vary}";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Vary {
    /// Variants of each request, at least 1.
    pub variants: u32,
    pub seed: u64,
}

impl Vary {
    /// A token for each variant: 16 hexadecimal digits, no two equal.
    pub(super) fn tokens(self) -> Vec<String> {
        // SplitMix64 is a bijection of a counter: no value comes twice.
        let mut random = SplitMix64::seed_from_u64(self.seed);
        (0..self.variants).map(|_| format!("{:016x}", random.next_u64())).collect()
    }
}

/// The request with a token in path, query and cookie.
pub(super) fn variant(template: &Template, target: &RequestTarget, token: &str) -> (Template, RequestTarget) {
    let (mut template, mut target) = (template.clone(), target.clone());
    let separator = if target.target.contains('?') { '&' } else { '?' };
    target.target = format!("{}{separator}vary={token}", target.target.replace(PLACEHOLDER, token));
    let cookie = format!("vary={token}");
    match template.fields.iter_mut().find(|(name, _)| name.eq_ignore_ascii_case("cookie")) {
        Some((_, value)) => *value = format!("{value}; {cookie}"),
        None => template.fields.push(("Cookie".to_owned(), cookie)),
    }
    (template, target)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn tokens_follow_from_the_seed_and_differ() {
        let tokens = |seed| Vary { variants: 5000, seed }.tokens();
        assert_eq!(tokens(1), tokens(1));
        assert_ne!(tokens(1), tokens(2));
        assert_eq!(tokens(1).iter().collect::<HashSet<_>>().len(), 5000);
        assert!(tokens(1).iter().all(|token| token.len() == 16));
    }

    #[test]
    fn a_token_is_in_path_query_and_cookie() {
        let made = |target: &str, fields: &[(&str, &str)]| {
            let fields = fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
            let template = Template { method: "GET".to_owned(), fields, body: None, http10: false };
            let target = RequestTarget {
                host: "h".to_owned(),
                target: target.to_owned(),
                weight: 1,
                name: 0,
                authorization: None,
            };
            let (template, target) = variant(&template, &target, "7");
            (
                target.target,
                template.fields.into_iter().map(|(name, value)| format!("{name}={value}")).collect::<String>(),
            )
        };
        assert_eq!(made("/", &[]), ("/?vary=7".to_owned(), "Cookie=vary=7".to_owned()));
        assert_eq!(made("/a?b=c", &[("cookie", "x=y")]), ("/a?b=c&vary=7".to_owned(), "cookie=x=y; vary=7".to_owned()));
        assert_eq!(made("/{vary}/b", &[]).0, "/7/b?vary=7");
    }
}

//! Pages: what calls return after what events, what operations cost, and how programs for other runtimes are written for this one.

#[doc = include_str!("../docs/one_meaning.md")]
pub mod one_meaning {}
#[doc = include_str!("../docs/costs.md")]
pub mod costs {}
#[doc = include_str!("../docs/from_tokio.md")]
pub mod from_tokio {}
#[doc = include_str!("../docs/from_monoio.md")]
pub mod from_monoio {}

//! Settings that the generator takes as they are, since its options contain [`Direct`], and plans too if they have a description
//! for them.

use crate::row;
use crate::setting::Setting;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Direct {
    /// Replies of an echo server are counted and not compared.
    pub no_verify: bool,
}

pub const DIRECT: &[Setting] =
    &[row!(direct.no_verify).long("no-verify").help("", "Count the bytes of tcp:// replies without comparing them")];

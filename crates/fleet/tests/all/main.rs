//! Messages as text.

mod golden;

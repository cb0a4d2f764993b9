//! `brunt ui` and `brunt load --ui` as typed: the pages over HTTP, hostile requests, loads started in the page, and the page in
//! a browser.

#[path = "../../../../lab/tests/page/axe.rs"]
mod axe;
#[allow(dead_code)]
#[path = "../../../../lab/tests/page/browser.rs"]
mod browser;
mod endings;
mod gate;
mod page;
mod results;
mod scene;
mod start;

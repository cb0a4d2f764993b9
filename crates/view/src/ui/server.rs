//! The site on our own HTTP server.

use super::loopback::Loopback;
use super::site::{Check, Site};
use crate::web::Web;
use brunt_results::Error;
use brunt_serve::http::Settings;
use brunt_serve::http::handler::{Factory, Request};
use std::path::Path;
use std::sync::Arc;

/// Longest form, in bytes.
const LARGEST_FORM: u64 = 64 << 10;

/// A site that is served until this is dropped.
#[derive(Debug)]
pub struct Served {
    /// With the token.
    url: String,
    site: Arc<Site>,
    /// Dropped after the site is closed.
    _web: Web,
}

impl Served {
    /// Serves the load that writes to `dir`, on no core of `cores`.
    pub fn of_load(dir: &Path, check: Check, listen: Loopback, cores: &[usize]) -> Result<Self, Error> {
        Self::start(Site::of_load(dir, check)?, listen, cores, "--ui")
    }

    /// Listens, and serves on no core of `cores`. `flag` is where the address comes from.
    pub fn start(site: Site, listen: Loopback, cores: &[usize], flag: &str) -> Result<Self, Error> {
        let site = Arc::new(site);
        let shared = Arc::clone(&site);
        let make = Factory::new(move || {
            let site = Arc::clone(&shared);
            Box::new(move |request: &Request<'_>| site.respond(request))
        });
        let mut settings = Settings { bodies: 16 * LARGEST_FORM, ..Settings::default() };
        settings.limits.body = LARGEST_FORM;
        let web = Web::start("ui", make, listen.0, settings, cores);
        let web = web.map_err(|error| Error::Failed(format!("{flag} {}: {error}", listen.0)))?;
        let url = format!("http://{}/?token={}", web.address, site.token());
        Ok(Self { url, site, _web: web })
    }

    /// The URL of the page, with its token.
    pub fn url(&self) -> &str {
        &self.url
    }
}

/// Ends the loads that the page has started, and lets open pages see the end.
impl Drop for Served {
    fn drop(&mut self) {
        self.site.close();
    }
}

//! Reads a plan from a TOML file. Every error is one line with its place and a remedy; unknown keys are errors.

mod response_keys;
mod text;

use crate::http::CertCache;
use crate::http::config::{ListenerPlan, Path, Plan, RouteAction, RoutePlan, Service};
use crate::http::script::{self, Script};
use brunt_diagnostic::{Diagnostic, Text};
use brunt_tls::{Acceptor, Identity};
use std::{fmt::Display, net::SocketAddr, ops::Range, path};
use text::{Entry, Read, Table};
use toml::de::DeValue;

/// Largest routes file, in bytes.
const MAX_FILE: u64 = 4 << 20;
/// Most listeners, and most routes.
const MAX_ENTRIES: usize = 10_000;

/// Reads the routes in `file`. A non-empty `listen` replaces the addresses of its only listener. Listeners that use TLS
/// without naming a certificate get one from `certificates`.
///
/// # Errors
/// One line: file, line, column, what is wrong, and the remedy.
pub fn read(file: &path::Path, listen: &[SocketAddr], certificates: &CertCache) -> Result<Plan, String> {
    let name = file.display().to_string();
    let unreadable = |error: &dyn Display| format!("cannot read the routes in '{name}': {error}");
    let size = std::fs::metadata(file).map_err(|error| unreadable(&error))?.len();
    if size > MAX_FILE {
        return Err(unreadable(&format!("{size} bytes are more than the {MAX_FILE} that a routes file may have")));
    }
    let source = std::fs::read_to_string(file).map_err(|error| unreadable(&error))?;
    let directory = file.parent().unwrap_or(path::Path::new(""));
    let reader = Reader { text: Text { file: &name, source: &source }, directory, listen, certificates };
    reader.plan().map_err(Diagnostic::line)
}

struct Reader<'s> {
    text: Text<'s>,
    /// File names are relative to this directory.
    directory: &'s path::Path,
    /// Replaces the addresses of the only listener, unless empty.
    listen: &'s [SocketAddr],
    certificates: &'s CertCache,
}

/// A listener while its routes are read.
struct Draft {
    plan: ListenerPlan,
    /// Its service, as the last route.
    service: Option<RoutePlan>,
    /// `None` if the file has no listener and this is the default one.
    place: Option<Range<usize>>,
}

impl Reader<'_> {
    fn plan(&self) -> Read<Plan> {
        let text = &self.text;
        let document = text.document()?;
        let mut document = Table::new(*text, document.get_ref(), 0..0);
        let seed = document.get("seed", |seed| seed.integer(0..=i64::MAX as u64))?.unwrap_or(1);
        let mut listeners: Vec<Draft> = Vec::new();
        for table in document.tables("listener")? {
            let place = table.place.clone();
            let draft = self.listener(table, listeners.len())?;
            let name = &draft.plan.name;
            if listeners.iter().any(|known| known.plan.name == *name) {
                return Err(text.error(place, format!("two listeners have the name '{name}': rename one")));
            }
            listeners.push(draft);
        }
        if listeners.is_empty() {
            let plan = ListenerPlan { name: "listener-1".to_owned(), ..ListenerPlan::default() };
            listeners.push(Draft { plan, service: None, place: None });
        }
        let routes = document.tables("route")?;
        let entries = listeners.len().max(routes.len());
        for (table, number) in routes.into_iter().zip(1..) {
            self.route(table, number, &mut listeners)?;
        }
        document.finish("the file")?;
        if entries > MAX_ENTRIES {
            return Err(text.error(0..0, format!("more than {MAX_ENTRIES} listeners or routes: split the file")));
        }
        self.complete(&mut listeners)?;
        Ok(Plan { listeners: listeners.into_iter().map(|draft| draft.plan).collect(), seed })
    }

    /// Sets the addresses, appends the services to the routes, and checks both.
    fn complete(&self, listeners: &mut [Draft]) -> Read<()> {
        let several = listeners.len() > 1;
        let mut used: Vec<SocketAddr> = Vec::new();
        for Draft { plan, service, place } in listeners {
            let error = |message: String| self.text.error(place.clone().unwrap_or(0..0), message);
            if !self.listen.is_empty() && several {
                return Err(error("--listen requires a file with one listener, this one has several".to_owned()));
            }
            if !self.listen.is_empty() {
                plan.addresses = self.listen.to_vec();
            }
            if plan.addresses.is_empty() {
                if place.is_some() {
                    return Err(error("the listener has no address: add listen = \"127.0.0.1:8080\"".to_owned()));
                }
                plan.addresses = vec![SocketAddr::from(([127, 0, 0, 1], 8080))];
            }
            // The service gets what no route matches.
            plan.routes.extend(service.take());
            if plan.routes.is_empty() && plan.refuse.is_none() {
                return Err(error(format!("listener '{}' has neither a route nor a service: add one", plan.name)));
            }
            for address in &plan.addresses {
                if address.port() != 0 && used.contains(address) {
                    return Err(error(format!("{address} is listened on twice: give each listener its own")));
                }
                used.push(*address);
            }
        }
        Ok(())
    }

    fn listener(&self, mut table: Table<'_, '_>, count: usize) -> Read<Draft> {
        let place = Some(table.place.clone());
        let name = table.get("name", Entry::string)?.unwrap_or_else(|| format!("listener-{}", count + 1));
        let mut addresses = Vec::new();
        if let Some(listen) = table.take("listen") {
            for address in listen.strings()? {
                addresses.push(address.parse().map_err(|_| {
                    let remedy = "write an address and a port, such as 127.0.0.1:8080 or [::1]:8080";
                    listen.error(format!("listen '{address}': {remedy}"))
                })?);
            }
        }
        let service = table.get("service", Entry::parsed::<Service>)?;
        let control = table.get("control", Entry::bool)?.unwrap_or_default();
        let refuse = table.get("refuse", |entry| {
            let mut keys = entry.table()?;
            let when = response_keys::when(&mut keys)?;
            keys.finish("refuse").map(|()| when)
        })?;
        let names = if self.listen.is_empty() { &addresses } else { self.listen };
        let tls = table.take("tls").map(|tls| self.tls(tls, names));
        table.finish("[[listener]]")?;
        let service = service.map(|service| RoutePlan { control, ..service.route() });
        let tls = tls.transpose()?.flatten();
        Ok(Draft { plan: ListenerPlan { name, addresses, routes: Vec::new(), refuse, tls }, service, place })
    }

    /// `tls = true`, or a table of files.
    fn tls(&self, entry: Entry<'_, '_>, addresses: &[SocketAddr]) -> Read<Option<Acceptor>> {
        let error = |why: String| entry.error(why);
        let self_signed = || self.certificates.identity(addresses.iter().copied()).map_err(error);
        if let DeValue::Boolean(wanted) = entry.value.get_ref() {
            return wanted.then(|| Acceptor::new(&self_signed()?, None).map_err(error)).transpose();
        }
        let mut table = entry.table()?;
        let mut file = |key| table.get(key, |name| Ok(self.directory.join(name.string()?)));
        let (certificate, key, client_ca) = (file("cert")?, file("key")?, file("client_ca")?);
        table.finish("tls")?;
        let identity = match (certificate, key) {
            (Some(certificate), Some(key)) => Identity::read(&certificate, &key).map_err(error)?,
            (None, None) => self_signed()?,
            _ => {
                let remedy = "give both, or neither for a self-signed certificate";
                return Err(error(format!("tls has only one of cert and key: {remedy}")));
            }
        };
        Acceptor::new(&identity, client_ca.as_deref()).map(Some).map_err(error)
    }

    /// Reads a route and adds it to its listener, or to all if it names none.
    fn route(&self, mut table: Table<'_, '_>, number: usize, listeners: &mut [Draft]) -> Read<()> {
        let text = &self.text;
        let listener = table.take("listener");
        let path = match table.take("path") {
            Some(path) => path_of(&path.string()?).map_err(|why| path.error(why))?,
            None => return Err(text.error(table.place, "the route has no path: add path = \"/\", or \"/*\" for all")),
        };
        let methods = Self::methods(&mut table)?;
        let host = table.get("host", Entry::string)?.map(|host| host.to_ascii_lowercase());
        let control = table.get("control", Entry::bool)?.unwrap_or_default();
        let name = table.get("name", Entry::string)?.unwrap_or_else(|| format!("{path} #{number}"));
        let action = self.action(&mut table)?;
        table.finish("[[route]]")?;
        let route = RoutePlan { name, path, methods, host, action, control };
        let Some(listener) = listener else {
            listeners.iter_mut().for_each(|draft| draft.plan.routes.push(route.clone()));
            return Ok(());
        };
        let name = listener.string()?;
        let named = listeners.iter_mut().find(|draft| draft.plan.name == name);
        let named = named.ok_or_else(|| listener.error(format!("there is no listener with the name '{name}'")))?;
        named.plan.routes.push(route);
        Ok(())
    }

    fn methods(table: &mut Table<'_, '_>) -> Read<Vec<String>> {
        let Some(entry) = table.take("method") else { return Ok(Vec::new()) };
        let methods = entry.strings()?;
        let is_valid = |method: &String| !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase());
        match methods.iter().find(|method| !is_valid(method)) {
            Some(bad) => Err(entry.error(format!("'{bad}' is not a method: write it in capitals, such as GET"))),
            None => Ok(methods),
        }
    }

    /// A service, a script, or the response that the other keys describe.
    fn action(&self, table: &mut Table<'_, '_>) -> Read<RouteAction> {
        let (service, script) = (table.take("service"), table.take("script"));
        let spec = response_keys::read(table, self.directory)?;
        let (entry, action) = match (service, script) {
            (None, None) => return Ok(RouteAction::Respond(spec.unwrap_or_default())),
            (Some(_), Some(entry)) => return Err(entry.error("a route has a service or a script: keep one of them")),
            (Some(entry), None) => {
                let action = entry.parsed::<Service>()?.action();
                (entry, action)
            }
            (None, Some(entry)) => {
                let file = self.directory.join(entry.string()?);
                let script = Script::open(&file, script::LIMITS, script::to_stderr).map_err(|why| entry.error(why))?;
                (entry, RouteAction::Script(script))
            }
        };
        match spec {
            Some(_) => Err(entry.error("this makes the response itself: keep it, or the keys of the response")),
            None => Ok(action),
        }
    }
}

fn path_of(path: &str) -> Result<Path, String> {
    let is_clean = path.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#'));
    if !path.starts_with('/') || !is_clean {
        return Err(format!("path '{path}' must begin with / and contain no blanks, ? or #; %-encode them"));
    }
    match path.strip_suffix('*') {
        Some("/") => Ok(Path::Any),
        Some(prefix) if prefix.ends_with('/') && !prefix.contains('*') => Ok(Path::Prefix(prefix.to_owned())),
        None if !path.contains('*') => Ok(Path::Exact(path.to_owned())),
        _ => Err(format!("path '{path}': * is allowed only at the end, after a /")),
    }
}

#[cfg(test)]
mod tests;

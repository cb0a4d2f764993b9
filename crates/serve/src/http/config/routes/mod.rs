//! From a TOML file to a plan. Every mistake is one line with its place and a remedy; nothing unknown is passed over.

mod response_keys;
mod text;
mod tls_keys;

use crate::http::{
    CertCache,
    config::{ListenerPlan, Path, Plan, RouteAction, RoutePlan, Service},
    script::{self, Script},
};
use std::{net::SocketAddr, path};
use text::{Read, Table, Text};
use toml::de::DeTable;

/// Larger files are no routes.
const LARGEST: u64 = 4 << 20;
/// More listeners or routes than anyone writes down.
const MOST: usize = 10_000;

/// Reads the routes in `file`. If there are addresses in `listen`, its only listener listens there, whatever it says.
/// Listeners over TLS that name no certificate get one out of `own`.
///
/// # Errors
/// One line: file, line, column, what is wrong, and what would do.
pub fn read(file: &path::Path, listen: &[SocketAddr], own: &CertCache) -> Result<Plan, String> {
    let name = file.display().to_string();
    let about = |error: &dyn std::fmt::Display| format!("cannot read the routes in '{name}': {error}");
    let size = std::fs::metadata(file).map_err(|error| about(&error))?.len();
    if size > LARGEST {
        return Err(about(&format!("it has {size} bytes, which is no list of routes")));
    }
    let source = std::fs::read_to_string(file).map_err(|error| about(&error))?;
    let directory = file.parent().unwrap_or(path::Path::new(""));
    Reader { text: Text { file: &name, source: &source }, directory, listen, own }.plan()
}

struct Reader<'s> {
    text: Text<'s>,
    /// What file names are relative to.
    directory: &'s path::Path,
    /// Where the only listener listens instead, if anywhere.
    listen: &'s [SocketAddr],
    own: &'s CertCache,
}

impl Reader<'_> {
    fn plan(&self) -> Read<Plan> {
        let Self { text, listen, .. } = self;
        let document = DeTable::parse(text.source);
        let document = document.map_err(|error| text.fault(&error.span().unwrap_or(0..0), error.message()))?;
        let mut document = Table::new(document.get_ref(), 0..0);
        let seed = document.take("seed").map_or(Ok(1), |value| text.whole(value, "seed", 0..=i64::MAX as u64))?;
        let mut listeners = Vec::new();
        if let Some(value) = document.take("listener") {
            for table in text.tables(value, "listener")? {
                let place = table.place.clone();
                let (listener, service) = self.listener(table, listeners.len())?;
                if listeners.iter().any(|(known, ..): &(ListenerPlan, _, _)| known.name == listener.name) {
                    return Err(text.fault(&place, format!("there are two listeners of the name '{}'", listener.name)));
                }
                listeners.push((listener, service, place));
            }
        }
        if listeners.is_empty() {
            let listener = ListenerPlan { name: "listener-1".to_owned(), ..ListenerPlan::default() };
            listeners.push((listener, None, 0..0));
        }
        let mut seen = 0;
        if let Some(value) = document.take("route") {
            for table in text.tables(value, "route")? {
                seen += 1;
                self.route(table, seen, &mut listeners)?;
            }
        }
        document.end(text, "the file")?;
        if listeners.len().max(seen) > MOST {
            return Err(text.fault(&(0..0), format!("more than {MOST} listeners or routes: split the file")));
        }
        let several = listeners.len() > 1;
        for (listener, service, place) in &mut listeners {
            if !listen.is_empty() && several {
                return Err(text.fault(place, "--listen fits a file with one listener, and this has several"));
            }
            if !listen.is_empty() {
                listener.addresses = listen.to_vec();
            }
            if listener.addresses.is_empty() {
                if several || *place != (0..0) {
                    return Err(text.fault(place, "the listener says not where: add listen = \"127.0.0.1:8080\""));
                }
                listener.addresses = vec![SocketAddr::from(([127, 0, 0, 1], 8080))];
            }
            // The service takes what no route takes.
            listener.routes.extend(service.take());
            if listener.routes.is_empty() && listener.refuse.is_none() {
                return Err(
                    text.fault(place, format!("listener '{}' has neither a route nor a service", listener.name))
                );
            }
        }
        self.no_address_twice(&listeners)?;
        Ok(Plan { listeners: listeners.into_iter().map(|(listener, ..)| listener).collect(), seed })
    }

    fn no_address_twice(&self, listeners: &[(ListenerPlan, Option<RoutePlan>, std::ops::Range<usize>)]) -> Read<()> {
        let mut known: Vec<SocketAddr> = Vec::new();
        for (listener, _, place) in listeners {
            for address in &listener.addresses {
                if address.port() != 0 && known.contains(address) {
                    return Err(self.text.fault(place, format!("{address} is listened on twice")));
                }
                known.push(*address);
            }
        }
        Ok(())
    }

    /// A listener, and its service as a route.
    fn listener(&self, mut table: Table<'_, '_>, count: usize) -> Read<(ListenerPlan, Option<RoutePlan>)> {
        let text = &self.text;
        let usual = || Ok(format!("listener-{}", count + 1));
        let name = table.take("name").map_or_else(usual, |value| text.string(value, "name"))?;
        let mut addresses = Vec::new();
        if let Some(value) = table.take("listen") {
            for address in text.strings(value, "listen")? {
                addresses.push(address.parse().map_err(|_| {
                    let remedy = "write an address and a port, such as 127.0.0.1:8080 or [::1]:8080";
                    text.fault(&value.span(), format!("listen '{address}': {remedy}"))
                })?);
            }
        }
        let service: Option<Service> = table.take("service").map(|value| text.parsed(value, "service")).transpose()?;
        let control = table.take("control").map_or(Ok(false), |value| text.truth(value, "control"))?;
        let refuse = match table.take("refuse") {
            Some(value) => {
                let mut when = text.table(value, "refuse")?;
                let read = response_keys::when(text, &mut when)?;
                when.end(text, "refuse")?;
                Some(read)
            }
            None => None,
        };
        let place = if self.listen.is_empty() { &addresses } else { self.listen };
        let tls = table.take("tls").map(|value| tls_keys::read(text, value, self.directory, place, self.own));
        table.end(text, "[[listener]]")?;
        let service = service.map(|service| RoutePlan { control, ..service.route() });
        Ok((ListenerPlan { name, addresses, routes: Vec::new(), refuse, tls: tls.transpose()?.flatten() }, service))
    }

    fn route(
        &self,
        mut table: Table<'_, '_>,
        number: usize,
        listeners: &mut [(ListenerPlan, Option<RoutePlan>, std::ops::Range<usize>)],
    ) -> Read<()> {
        let text = &self.text;
        let wanted = match table.take("listener") {
            Some(value) => Some((text.string(value, "listener")?, value.span())),
            None => None,
        };
        let path = match table.take("path") {
            Some(value) => path_of(&text.string(value, "path")?).map_err(|why| text.fault(&value.span(), why))?,
            None => return Err(text.fault(&table.place, "the route has no path: add path = \"/\", or \"/*\" for all")),
        };
        let mut methods = Vec::new();
        if let Some(value) = table.take("method") {
            methods = text.strings(value, "method")?;
            let token = |method: &String| !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_uppercase());
            if let Some(bad) = methods.iter().find(|method| !token(method)) {
                return Err(
                    text.fault(&value.span(), format!("method '{bad}' is none: write it in capitals, such as GET"))
                );
            }
        }
        let host = table.take("host").map(|value| text.string(value, "host")).transpose()?;
        let control = table.take("control").map_or(Ok(false), |value| text.truth(value, "control"))?;
        let usual = || Ok(format!("{path} #{number}"));
        let name = table.take("name").map_or_else(usual, |value| text.string(value, "name"))?;
        let maker = match (table.take("service"), table.take("script")) {
            (None, None) => None,
            (Some(value), None) => Some((text.parsed::<Service>(value, "service")?.action(), value.span())),
            (None, Some(value)) => {
                let file = self.directory.join(text.string(value, "script")?);
                let script = Script::open(&file, script::LIMITS, script::to_stderr);
                Some((RouteAction::Script(script.map_err(|why| text.fault(&value.span(), why))?), value.span()))
            }
            (Some(_), Some(value)) => {
                return Err(text.fault(&value.span(), "a route has a service or a script: keep one of them"));
            }
        };
        let said = response_keys::read(text, &mut table, self.directory)?;
        let action = match (maker, said) {
            (None, said) => RouteAction::Respond(said.unwrap_or_default()),
            (Some((action, _)), None) => action,
            (Some((_, place)), Some(_)) => {
                return Err(text.fault(&place, "this makes answers of its own: keep it, or the keys of the answer"));
            }
        };
        table.end(text, "[[route]]")?;
        let route =
            RoutePlan { name, path, methods, host: host.map(|host| host.to_ascii_lowercase()), action, control };
        match wanted {
            None => listeners.iter_mut().for_each(|(listener, ..)| listener.routes.push(route.clone())),
            Some((name, place)) => match listeners.iter_mut().find(|(listener, ..)| listener.name == name) {
                Some((listener, ..)) => listener.routes.push(route),
                None => return Err(text.fault(&place, format!("there is no listener of the name '{name}'"))),
            },
        }
        Ok(())
    }
}

fn path_of(path: &str) -> Result<Path, String> {
    let clean = path.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#'));
    if !path.starts_with('/') || !clean {
        return Err(format!("path '{path}' must begin with / and hold neither blanks nor ? nor #; %-encode them"));
    }
    match path.strip_suffix('*') {
        Some("/") => Ok(Path::Any),
        Some(prefix) if prefix.ends_with('/') && !prefix.contains('*') => Ok(Path::Prefix(prefix.to_owned())),
        None if !path.contains('*') => Ok(Path::Exact(path.to_owned())),
        _ => Err(format!("path '{path}': a * stands only at the end, behind a /")),
    }
}

#[cfg(test)]
mod tests;

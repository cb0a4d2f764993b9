//! Parses a `[[target]]`. Checks every placeholder, while its place in the source is known.

use super::filter::filter;
use super::references::References;
use super::service::Service;
use super::source::{Source, Table, Value, entries};
use super::{HOOK_TIMEOUT, Pin, Target, TargetKind, hosts, keys};
use crate::plan::{Limits, PlanError};
use brunt_diagnostic::suggest::did_you_mean;
use brunt_results::{Count, Size, Span};
use std::{collections::BTreeMap, fmt::Display, str::FromStr, time::Duration};
use toml::de::{DeTable, DeValue};

pub(super) fn read(text: &Source, table: &DeTable, references: &mut References) -> Result<Target, PlanError> {
    let table = text.keyed(table, "[[target]]", keys::TARGET)?;
    let filter = filter(&table, true, references)?;
    let mut words = Words { text, references };
    let kind = kind(&table, &mut words)?;
    let on = hosts::on(&table, kind.as_ref())?;
    let kind = kind.or_else(|| on.as_ref().map(|_| TargetKind::OfAgent));
    let name = table.read("name", Source::name)?;
    let name = name.ok_or_else(|| text.error(table.start(), "this target has no name: add name = \"...\""))?;
    let missing = || format!("target '{name}' has neither serve, command, nginx nor on: nothing could be started");
    let kind = kind.ok_or_else(|| text.error(table.start(), missing()))?;
    table.read("ready", ready)?;
    let single_process = table.read("single_process", Source::boolean)?.unwrap_or_else(|| one_process(&kind));
    Ok(Target {
        name,
        kind,
        on,
        single_process,
        dir: table.read("dir", Source::string)?,
        build: table
            .read("build", |text, value, key| command(text, value, key, text.words(value, key)?))?
            .unwrap_or_default(),
        needs: table.read("needs", Source::words)?.unwrap_or_default(),
        before: table.read("before", |_, value, key| words.command(value, key))?.unwrap_or_default(),
        after: table.read("after", |_, value, key| words.command(value, key))?.unwrap_or_default(),
        hook_timeout: table.read("hook_timeout", Source::parsed)?.unwrap_or(HOOK_TIMEOUT),
        env: table.read("env", |_, value, _| words.env(value))?.unwrap_or_default(),
        ready_timeout: table.read("ready_timeout", Source::parsed)?.unwrap_or(Span(Duration::from_secs(10))),
        max_server_cores: table.whole("max_server_cores", 1..=1024)?,
        pin: table.read("pin", pin)?.unwrap_or_default(),
        limits: table.read("limits", limits)?.unwrap_or_default(),
        service: table.read("service", Service::read)?.unwrap_or_default(),
        filter,
        skip: table.read("skip", Source::string)?,
    })
}

/// Whether the target is one process by definition. The other models of brunt use as many as the connections need.
fn one_process(kind: &TargetKind) -> bool {
    matches!(kind, TargetKind::Serve { model, .. } if ["epoll-one", "prefork"].contains(&model.as_str()))
}

fn kind(table: &Table, words: &mut Words) -> Result<Option<TargetKind>, PlanError> {
    let mut kind = None;
    for (key, place, value) in &table.entries {
        let read = match *key {
            "serve" => words.serve(value)?,
            "command" => TargetKind::Command(words.command(value, key)?),
            "nginx" => words.nginx(value)?,
            _ => continue,
        };
        if kind.replace(read).is_some() {
            let message = "serve, command and nginx exclude each other: keep one";
            return Err(table.text.error(place.clone(), message));
        }
    }
    Ok(kind)
}

fn ready(text: &Source, value: &Value, key: &str) -> Result<(), PlanError> {
    match text.string(value, key)? {
        how if how == "connect" => Ok(()),
        how => {
            let message = format!("ready '{how}' is not known; the one way is \"connect\": it accepts a connection");
            Err(text.error(value.span(), message))
        }
    }
}

/// Parser for the words of command lines.
struct Words<'t, 's> {
    text: &'t Source<'s>,
    references: &'t mut References,
}

impl Words<'_, '_> {
    fn serve(&mut self, value: &Value) -> Result<TargetKind, PlanError> {
        let text = self.text;
        let table = text.keyed(text.table(value, "serve")?, "serve", keys::SERVE)?;
        let service = table.read("service", |_, value, key| self.one_of(value, key, keys::SERVICES))?;
        let model = table.read("model", |_, value, key| self.one_of(value, key, keys::MODELS))?;
        let (Some(service), Some(model)) = (service, model) else {
            let message = "serve needs a service and a model: { service = \"echo\", model = \"uring\" }";
            return Err(text.error(value.span(), message));
        };
        if service == "http" && !keys::HTTP_MODELS.contains(&model.as_str()) {
            let known = keys::HTTP_MODELS.join(", ");
            let place = table.entry("model").map_or(0..0, |(_, _, value)| value.span());
            return Err(text.error(place, format!("http has no model '{model}'; known are {known}")));
        }
        let args = table.read("args", |_, value, key| self.words(value, key))?.unwrap_or_default();
        Ok(TargetKind::Serve { service, model, args })
    }

    fn command(&mut self, value: &Value, key: &str) -> Result<Vec<String>, PlanError> {
        if !matches!(value.get_ref(), DeValue::Array(_)) {
            let message =
                format!("{key} must be a list of words: [\"server\", \"--listen\", \"{{listen}}\"]; no shell reads it");
            return Err(self.text.error(value.span(), message));
        }
        command(self.text, value, key, self.words(value, key)?)
    }

    fn nginx(&mut self, value: &Value) -> Result<TargetKind, PlanError> {
        let table = self.text.keyed(self.text.table(value, "nginx")?, "nginx", keys::NGINX)?;
        let body = table.read("body", |text, value, key| match text.string(value, key)? {
            body if body.contains('$') => Err(text.error(value.span(), "nginx interprets $ in the body as a variable")),
            body => self.check(body, value),
        })?;
        let missing = || self.text.error(value.span(), "nginx needs a body: { body = \"Hi, there!\\n\" }");
        let keepalive_requests = table.whole("keepalive_requests", 1..=1_000_000_000)?;
        Ok(TargetKind::Nginx { body: body.ok_or_else(missing)?, keepalive_requests })
    }

    fn env(&mut self, value: &Value) -> Result<BTreeMap<String, String>, PlanError> {
        let mut env = BTreeMap::new();
        for (name, at, value) in entries(self.text.table(value, "env")?) {
            if name.is_empty() || name.contains(['=', '\0']) {
                return Err(self.text.error(at, format!("'{name}' cannot name an environment variable")));
            }
            let word = self.text.scalar(value, name)?;
            env.insert(name.to_owned(), self.check(word, value)?);
        }
        Ok(env)
    }

    fn one_of(&self, value: &Value, key: &str, known: &[&str]) -> Result<String, PlanError> {
        let word = self.text.string(value, key)?;
        if !known.contains(&word.as_str()) {
            return Err(self.text.error(value.span(), format!("unknown {key} '{word}'{}", did_you_mean(&word, known))));
        }
        Ok(word)
    }

    fn words(&mut self, value: &Value, key: &str) -> Result<Vec<String>, PlanError> {
        self.text.strings(value, key)?.into_iter().map(|(word, at)| self.check(word, at)).collect()
    }

    /// Checks that the system accepts the word and that its placeholders are known.
    fn check(&mut self, word: String, at: &Value) -> Result<String, PlanError> {
        if word.contains('\0') {
            return Err(self.text.error(at.span(), "a word of a command cannot contain a NUL character"));
        }
        self.references.check(self.text, &word, at.span(), true)?;
        Ok(word)
    }
}

/// Checks that the words begin with a program.
fn command(text: &Source, value: &Value, key: &str, words: Vec<String>) -> Result<Vec<String>, PlanError> {
    match words.first().is_none_or(String::is_empty) {
        true => Err(text.error(value.span(), format!("{key} names no program"))),
        false => Ok(words),
    }
}

fn pin(text: &Source, value: &Value, _: &str) -> Result<Pin, PlanError> {
    match value.get_ref() {
        DeValue::Boolean(true) => Ok(Pin::Automatic),
        DeValue::Boolean(false) => Ok(Pin::Free),
        DeValue::String(list) => {
            let cores = list.parse().map_err(|e| text.error(value.span(), format!("pin: {e}")))?;
            Ok(Pin::To(cores))
        }
        _ => Err(text.error(value.span(), "pin takes true, false or a list of cores such as \"0,2-3\"")),
    }
}

fn limits(text: &Source, value: &Value, key: &str) -> Result<Limits, PlanError> {
    let table = text.keyed(text.table(value, key)?, "limits", keys::LIMITS)?;
    Ok(Limits {
        // Standard input, output and error, the listener, and one connection.
        nofile: limit(&table, "nofile", Count(5))?,
        memory: limit(&table, "memory", Size(1 << 20))?,
        memlock: limit(&table, "memlock", Size(1 << 10))?,
    })
}

fn limit<T>(table: &Table, key: &str, least: T) -> Result<Option<T>, PlanError>
where
    T: FromStr<Err: Display> + Display + PartialOrd,
{
    table.read(key, |text, value, key| match text.parsed(value, key)? {
        limit if limit >= least => Ok(limit),
        _ => Err(text.error(value.span(), format!("{key} is too small for any server: the minimum is {least}"))),
    })
}

//! Parses a `[[target]]`. Checks every placeholder, while its place in the source is known.

use super::{
    Filter, HOOK_TIMEOUT, Pin, Target, TargetKind,
    filter::patterns,
    keys,
    references::{PlaceholderRef, References},
    source::{Source, Value, entries},
};
use crate::{
    plan::{Limits, PlanError, template},
    suggest::did_you_mean,
};
use brunt_results::{Count, Size, Span};
use std::{collections::BTreeMap, ops::Range, time::Duration};
use toml::de::{DeTable, DeValue};

/// Parses one target. `own` are the plan's own axes. Over 60 lines: one short arm for each key.
pub(super) fn read(
    text: &Source,
    table: &DeTable,
    own: &[String],
    references: &mut References,
) -> Result<Target, PlanError> {
    let mut words = Words { text, own, used: &mut references.placeholders };
    let mentions = &mut references.filters;
    let mut target = Target {
        name: String::new(),
        kind: TargetKind::Command(Vec::new()),
        dir: None,
        build: Vec::new(),
        needs: Vec::new(),
        before: Vec::new(),
        after: Vec::new(),
        hook_timeout: HOOK_TIMEOUT,
        env: BTreeMap::new(),
        ready_timeout: Span(Duration::from_secs(10)),
        max_server_cores: None,
        pin: Pin::Automatic,
        limits: Limits::default(),
        filter: Filter::default(),
        skip: None,
    };
    let mut start = None;
    let mut here = 0..0;
    for (key, place, value) in entries(table) {
        if here.end == 0 {
            here = place.clone();
        }
        match key {
            "name" => target.name = text.name(value, "name")?,
            "serve" | "command" | "nginx" => {
                if start.is_some() {
                    return Err(text.error(place, "serve, command and nginx exclude each other: keep one"));
                }
                start = Some(match key {
                    "serve" => words.serve(value)?,
                    "command" => TargetKind::Command(words.command(value, key)?),
                    _ => words.nginx(value)?,
                });
            }
            "dir" => target.dir = Some(text.string(value, key)?),
            "build" => {
                target.build = text.strings(value, key)?.into_iter().map(|(word, _)| word).collect();
                names_a_program(text, value, key, &target.build)?;
            }
            "needs" => target.needs = text.strings(value, key)?.into_iter().map(|(word, _)| word).collect(),
            "before" => target.before = words.command(value, key)?,
            "after" => target.after = words.command(value, key)?,
            "hook_timeout" => target.hook_timeout = text.span(value, key)?,
            "env" => {
                for (name, at, value) in entries(text.table(value, "env")?) {
                    if name.is_empty() || name.contains(['=', '\0']) {
                        return Err(text.error(at, format!("'{name}' cannot name an environment variable")));
                    }
                    let word = text.scalar(value, name)?;
                    target.env.insert(name.to_owned(), words.check(word, value)?);
                }
            }
            "ready" => {
                let how = text.string(value, key)?;
                if how != "connect" {
                    let message =
                        format!("ready '{how}' is not known; the one way is \"connect\": it accepts a connection");
                    return Err(text.error(value.span(), message));
                }
            }
            "ready_timeout" => target.ready_timeout = text.span(value, key)?,
            "max_server_cores" => target.max_server_cores = Some(text.whole(value, key, 1..=1024)? as usize),
            "pin" => target.pin = pin(text, value)?,
            "limits" => target.limits = limits(text, text.table(value, "limits")?)?,
            "when" => target.filter.when = patterns(text, key, value, true, mentions)?,
            "except" => target.filter.except = patterns(text, key, value, true, mentions)?,
            "skip" => target.skip = Some(text.string(value, key)?),
            _ => return Err(text.unknown(key, place, "[[target]]", keys::TARGET)),
        }
    }
    if target.name.is_empty() {
        return Err(text.error(here, "this target has no name: add name = \"...\""));
    }
    let missing = || format!("target '{}' has neither serve, command nor nginx: nothing could be started", target.name);
    target.kind = start.ok_or_else(|| text.error(here, missing()))?;
    Ok(target)
}

/// Parser for the words of command lines.
struct Words<'t, 's> {
    text: &'t Source<'s>,
    own: &'t [String],
    used: &'t mut Vec<PlaceholderRef>,
}

impl Words<'_, '_> {
    fn serve(&mut self, value: &Value) -> Result<TargetKind, PlanError> {
        let (mut service, mut model, mut args) = (String::new(), String::new(), Vec::new());
        let mut model_place = 0..0;
        for (key, place, value) in entries(self.text.table(value, "serve")?) {
            match key {
                "service" => service = self.one_of(value, key, keys::SERVICES)?,
                "model" => {
                    model = self.one_of(value, key, keys::MODELS)?;
                    model_place = value.span();
                }
                "args" => args = self.words(value, key)?,
                _ => return Err(self.text.unknown(key, place, "serve", keys::SERVE)),
            }
        }
        if service.is_empty() || model.is_empty() {
            let message = "serve needs a service and a model: { service = \"echo\", model = \"uring\" }";
            return Err(self.text.error(value.span(), message));
        }
        if service == "http" && !keys::HTTP_MODELS.contains(&model.as_str()) {
            let known = keys::HTTP_MODELS.join(", ");
            return Err(self.text.error(model_place, format!("http has no model '{model}'; known are {known}")));
        }
        Ok(TargetKind::Serve { service, model, args })
    }

    fn command(&mut self, value: &Value, key: &str) -> Result<Vec<String>, PlanError> {
        if !matches!(value.get_ref(), DeValue::Array(_)) {
            let message =
                format!("{key} must be a list of words: [\"server\", \"--listen\", \"{{listen}}\"]; no shell reads it");
            return Err(self.text.error(value.span(), message));
        }
        let words = self.words(value, key)?;
        names_a_program(self.text, value, key, &words)?;
        Ok(words)
    }

    fn nginx(&mut self, value: &Value) -> Result<TargetKind, PlanError> {
        let mut body = None;
        for (key, place, value) in entries(self.text.table(value, "nginx")?) {
            if key != "body" {
                return Err(self.text.unknown(key, place, "nginx", keys::NGINX));
            }
            let text = self.text.string(value, key)?;
            if text.contains('$') {
                return Err(self.text.error(value.span(), "nginx interprets $ in the body as a variable"));
            }
            body = Some(self.check(text, value)?);
        }
        let missing = || self.text.error(value.span(), "nginx needs a body: { body = \"Hi, there!\\n\" }");
        Ok(TargetKind::Nginx { body: body.ok_or_else(missing)? })
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
        let known: Vec<&str> = template::OWN.iter().chain(template::OF_SETTINGS).copied().collect();
        check(self.text, &word, &at.span(), &known, self.own, true, self.used)?;
        Ok(word)
    }
}

fn names_a_program(text: &Source, value: &Value, key: &str, words: &[String]) -> Result<(), PlanError> {
    match words.first().is_none_or(String::is_empty) {
        true => Err(text.error(value.span(), format!("{key} names no program"))),
        false => Ok(()),
    }
}

fn pin(text: &Source, value: &Value) -> Result<Pin, PlanError> {
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

fn limits(text: &Source, table: &DeTable) -> Result<Limits, PlanError> {
    let mut limits = Limits::default();
    for (key, place, value) in entries(table) {
        let word = || text.scalar(value, key);
        let wrong = |e: brunt_results::UnitError| text.error(value.span(), format!("{key}: {e}"));
        let (given, least, least_shown) = match key {
            "nofile" => {
                let count: Count = word()?.parse().map_err(wrong)?;
                limits.nofile = Some(count);
                // Standard input, output and error, the listener, and one connection.
                (count.0, 5, "5")
            }
            "memory" | "memlock" => {
                let size: Size = word()?.parse().map_err(wrong)?;
                let (limit, least, shown) = match key {
                    "memory" => (&mut limits.memory, 1 << 20, "1MiB"),
                    _ => (&mut limits.memlock, 1 << 10, "1KiB"),
                };
                *limit = Some(size);
                (size.0, least, shown)
            }
            _ => return Err(text.unknown(key, place, "limits", keys::LIMITS)),
        };
        if given < least {
            return Err(
                text.error(value.span(), format!("{key} is too small for any server: the minimum is {least_shown}"))
            );
        }
    }
    Ok(limits)
}

/// Checks that every placeholder in `word` is `known` or one of the plan's own axes, and collects them.
pub(super) fn check(
    text: &Source,
    word: &str,
    at: &Range<usize>,
    known: &[&str],
    own: &[String],
    at_start: bool,
    used: &mut Vec<PlaceholderRef>,
) -> Result<(), PlanError> {
    for name in template::names(word).map_err(|e| text.error(at.clone(), e))? {
        if !own.iter().any(|axis| axis == name) && !known.contains(&name) {
            let known: Vec<&str> = known.iter().copied().chain(own.iter().map(String::as_str)).collect();
            return Err(text.error(at.clone(), format!("unknown placeholder {{{name}}}{}", did_you_mean(name, &known))));
        }
        used.push(PlaceholderRef { name: name.to_owned(), place: at.clone(), at_start });
    }
    Ok(())
}

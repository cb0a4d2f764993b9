//! From a `[[target]]` table to a target. Every placeholder is checked here, while its place in the text is known.

use super::{
    Start, Target,
    read::{Text, Value, entries},
};
use crate::{fault::Fault, nearest::hint, template};
use outcome::Span;
use std::{collections::BTreeMap, ops::Range, time::Duration};
use toml::de::{DeTable, DeValue};

/// The services of `brunt serve` that an experiment can use.
const SERVICES: &[&str] = &["echo", "http"];
/// The models of `brunt serve`.
const MODELS: &[&str] = &["uring", "epoll", "tokio"];

const KEYS: &[&str] = &[
    "name",
    "serve",
    "command",
    "nginx",
    "dir",
    "build",
    "needs",
    "env",
    "ready",
    "ready_timeout",
    "max_server_cores",
    "skip",
];

/// Reads one target. `own` are the axes of the plan's own; what it uses is added to `used`.
pub(super) fn read(
    text: &Text,
    table: &DeTable,
    own: &[String],
    used: &mut Vec<(String, Range<usize>)>,
) -> Result<Target, Fault> {
    let mut words = Words { text, own, used };
    let mut target = Target {
        name: String::new(),
        start: Start::Command(Vec::new()),
        dir: None,
        build: Vec::new(),
        needs: Vec::new(),
        env: BTreeMap::new(),
        ready_timeout: Span(Duration::from_secs(10)),
        max_server_cores: None,
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
                    return Err(text.fault(place, "serve, command and nginx exclude each other: keep one"));
                }
                start = Some(match key {
                    "serve" => words.serve(value)?,
                    "command" => words.command(value)?,
                    _ => words.nginx(value)?,
                });
            }
            "dir" => target.dir = Some(text.string(value, key)?),
            "build" => target.build = text.strings(value, key)?.into_iter().map(|(word, _)| word).collect(),
            "needs" => target.needs = text.strings(value, key)?.into_iter().map(|(word, _)| word).collect(),
            "env" => {
                for (name, at, value) in entries(text.table(value, "env")?) {
                    if name.is_empty() || name.contains(['=', '\0']) {
                        return Err(text.fault(at, format!("'{name}' cannot name an environment variable")));
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
                    return Err(text.fault(value.span(), message));
                }
            }
            "ready_timeout" => {
                let parsed = text.scalar(value, key)?.parse();
                target.ready_timeout = parsed.map_err(|e| text.fault(value.span(), format!("{key}: {e}")))?;
            }
            "max_server_cores" => target.max_server_cores = Some(text.whole(value, key, 1..=1024)? as usize),
            "skip" => target.skip = Some(text.string(value, key)?),
            _ => return Err(text.fault(place, format!("unknown key '{key}' in [[target]]{}", hint(key, KEYS)))),
        }
    }
    if target.name.is_empty() {
        return Err(text.fault(here, "this target has no name: add name = \"...\""));
    }
    let missing = || format!("target '{}' has neither serve, command nor nginx: nothing could be started", target.name);
    target.start = start.ok_or_else(|| text.fault(here, missing()))?;
    Ok(target)
}

/// Checks the words of command lines.
struct Words<'t, 's> {
    text: &'t Text<'s>,
    own: &'t [String],
    used: &'t mut Vec<(String, Range<usize>)>,
}

impl Words<'_, '_> {
    fn serve(&mut self, value: &Value) -> Result<Start, Fault> {
        let (mut service, mut model, mut args) = (String::new(), String::new(), Vec::new());
        for (key, place, value) in entries(self.text.table(value, "serve")?) {
            match key {
                "service" => service = self.one_of(value, key, SERVICES)?,
                "model" => model = self.one_of(value, key, MODELS)?,
                "args" => args = self.words(value, key)?,
                _ => {
                    let hint = hint(key, &["service", "model", "args"]);
                    return Err(self.text.fault(place, format!("unknown key '{key}' in serve{hint}")));
                }
            }
        }
        if service.is_empty() || model.is_empty() {
            let message = "serve needs a service and a model: { service = \"echo\", model = \"uring\" }";
            return Err(self.text.fault(value.span(), message));
        }
        Ok(Start::Serve { service, model, args })
    }

    fn command(&mut self, value: &Value) -> Result<Start, Fault> {
        if !matches!(value.get_ref(), DeValue::Array(_)) {
            let message =
                "command must be a list of words: [\"server\", \"--listen\", \"{listen}\"]; no shell reads it";
            return Err(self.text.fault(value.span(), message));
        }
        let words = self.words(value, "command")?;
        if words.first().is_none_or(String::is_empty) {
            return Err(self.text.fault(value.span(), "command names no program"));
        }
        Ok(Start::Command(words))
    }

    fn nginx(&mut self, value: &Value) -> Result<Start, Fault> {
        let mut body = None;
        for (key, place, value) in entries(self.text.table(value, "nginx")?) {
            if key != "body" {
                return Err(self.text.fault(place, format!("unknown key '{key}' in nginx{}", hint(key, &["body"]))));
            }
            let text = self.text.string(value, key)?;
            if text.contains('$') {
                return Err(self.text.fault(value.span(), "nginx takes a $ in the body for a variable of its own"));
            }
            body = Some(self.check(text, value)?);
        }
        let missing = || self.text.fault(value.span(), "nginx needs a body: { body = \"Hi, there!\\n\" }");
        Ok(Start::Nginx { body: body.ok_or_else(missing)? })
    }

    fn one_of(&self, value: &Value, key: &str, known: &[&str]) -> Result<String, Fault> {
        let word = self.text.string(value, key)?;
        if !known.contains(&word.as_str()) {
            return Err(self.text.fault(value.span(), format!("unknown {key} '{word}'{}", hint(&word, known))));
        }
        Ok(word)
    }

    fn words(&mut self, value: &Value, key: &str) -> Result<Vec<String>, Fault> {
        self.text.strings(value, key)?.into_iter().map(|(word, at)| self.check(word, at)).collect()
    }

    /// Lets a word pass if the system takes it and every placeholder in it is known.
    fn check(&mut self, word: String, at: &Value) -> Result<String, Fault> {
        if word.contains('\0') {
            return Err(self.text.fault(at.span(), "a word of a command cannot hold the zero character"));
        }
        let known: Vec<&str> = template::OWN.iter().chain(template::OF_SETTINGS).copied().collect();
        check(self.text, &word, &at.span(), &known, self.own, self.used)?;
        Ok(word)
    }
}

/// Lets a text pass if every placeholder in it is `known` or one of the plan's own axes, which are then noted as used.
pub(super) fn check(
    text: &Text,
    word: &str,
    at: &Range<usize>,
    known: &[&str],
    own: &[String],
    used: &mut Vec<(String, Range<usize>)>,
) -> Result<(), Fault> {
    for name in template::names(word).map_err(|e| text.fault(at.clone(), e))? {
        let is_own = own.iter().any(|axis| axis == name);
        if !is_own && !known.contains(&name) {
            let known: Vec<&str> = known.iter().copied().chain(own.iter().map(String::as_str)).collect();
            return Err(text.fault(at.clone(), format!("unknown placeholder {{{name}}}{}", hint(name, &known))));
        }
        if is_own {
            used.push((name.to_owned(), at.clone()));
        }
    }
    Ok(())
}

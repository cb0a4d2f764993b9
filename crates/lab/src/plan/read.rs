//! From TOML to a plan. Every mistake is pointed at in the text, with the nearest name that would do; nothing unknown
//! is passed over in silence.

use super::{Axis, Plan, Start, Sweep, Target, target};
use crate::{
    fault::Fault,
    nearest::{hint, nearest},
    settings::{NAMES, Settings},
    template, tester,
};
use std::{collections::BTreeMap, ops::Range};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// More cells than anyone runs, and fewer than fill the memory: a slip such as one axis too many is caught here.
const MOST_CELLS: usize = 10_000;

const KEYS: &[&str] =
    &["name", "description", "seed", "repeats", "again", "best_over", "baseline", "load", "sweep", "target", "testers"];

/// A value of the text, with its place.
pub(super) type Value<'a> = Spanned<DeValue<'a>>;

/// A key, its place and its value.
pub(super) type Entry<'t, 'a> = (&'t str, Range<usize>, &'t Value<'a>);

/// Reads a plan from `source`; `file` names it in messages.
pub fn read(file: &str, source: &str) -> Result<Plan, Fault> {
    let text = Text { file, source };
    let document = DeTable::parse(source).map_err(|e| text.fault(e.span().unwrap_or(0..0), e.message()))?;
    let mut plan = Plan {
        name: String::new(),
        description: String::new(),
        seed: 1,
        repeats: 3,
        again: 1,
        load: Settings::default(),
        sweeps: Vec::new(),
        best_over: None,
        baseline: None,
        targets: Vec::new(),
        testers: BTreeMap::new(),
    };
    let mut targets: &[Value] = &[];
    let entries = entries(document.get_ref());
    for (key, place, value) in &entries {
        match *key {
            "name" => plan.name = text.name(value, "name")?,
            "description" => plan.description = text.string(value, "description")?,
            "seed" => plan.seed = text.whole(value, "seed", 0..=i64::MAX as u64)?,
            "repeats" => plan.repeats = text.whole(value, "repeats", 1..=1000)? as u32,
            "again" => plan.again = text.whole(value, "again", 0..=100)? as u32,
            "best_over" => plan.best_over = Some(text.string(value, "best_over")?),
            "baseline" => plan.baseline = Some(text.string(value, "baseline")?),
            "load" => text.load(&mut plan.load, text.table(value, "load")?)?,
            "sweep" => match value.get_ref() {
                DeValue::Array(sweeps) => {
                    for sweep in sweeps {
                        plan.sweeps.push(text.sweep(text.table(sweep, "[sweep]")?)?);
                    }
                }
                _ => plan.sweeps.push(text.sweep(text.table(value, "sweep")?)?),
            },
            "target" => match value.get_ref() {
                DeValue::Array(list) => targets = list,
                _ => return Err(text.fault(place.clone(), "a target is written as [[target]], in double brackets")),
            },
            "testers" => {
                for (name, place, words) in self::entries(text.table(value, "testers")?) {
                    let known = tester::names();
                    if !known.contains(&name) {
                        return Err(text.fault(place, format!("'{name}' is not a tester{}", hint(name, &known))));
                    }
                    let words = text.strings(words, name)?.into_iter().map(|(word, _)| word).collect();
                    plan.testers.insert(name.to_owned(), words);
                }
            }
            _ => {
                return Err(text.fault(place.clone(), format!("unknown key '{key}'{}", hint(key, KEYS))));
            }
        }
    }
    if plan.name.is_empty() {
        return Err(text.fault(0..0, "the plan has no name: add name = \"...\" at its top"));
    }
    if plan.sweeps.is_empty() {
        plan.sweeps.push(Sweep::default());
    }
    let own: Vec<String> = plan.own_axes().map(|axis| axis.name.clone()).collect();
    let mut used = Vec::new();
    for value in targets {
        let target = target::read(&text, text.table(value, "[target]")?, &own, &mut used)?;
        if let Some(why) = deaf(&target, plan.load.path.is_some()) {
            return Err(text.fault(value.span(), why));
        }
        if plan.targets.iter().any(|known| known.name == target.name) {
            return Err(text.fault(value.span(), format!("there are two targets of the name '{}'", target.name)));
        }
        plan.targets.push(target);
    }
    if let Some(path) = &plan.load.path {
        let place = text.load_place(&entries, "path");
        target::check(&text, path, &place, template::OF_SETTINGS, &own, &mut used)?;
    }
    let names: Vec<&str> = NAMES.iter().copied().chain(own.iter().map(String::as_str)).collect();
    let targets: Vec<&str> = plan.targets.iter().map(|target| target.name.as_str()).collect();
    for (key, named, known) in [("best_over", &plan.best_over, names), ("baseline", &plan.baseline, targets)] {
        if let Some(name) = named.as_ref().filter(|name| !known.contains(&name.as_str())) {
            let place = entries.iter().find(|(entry, ..)| *entry == key).map_or(0..0, |(_, _, value)| value.span());
            return Err(text.fault(place, format!("{key} names the unknown '{name}'{}", hint(name, &known))));
        }
    }
    if plan.targets.is_empty() {
        return Err(text.fault(0..0, "the plan has no target: add at least one [[target]]"));
    }
    text.check_axes(&plan, &entries, &used)?;
    Ok(plan)
}

/// Why a server that we know would not understand the load.
fn deaf(target: &Target, http: bool) -> Option<String> {
    let speaks = match &target.start {
        Start::Serve { service, .. } => service == "http",
        Start::Nginx { .. } => true,
        Start::Command(_) => return None,
    };
    let name = &target.name;
    match (speaks, http) {
        (true, false) => Some(format!("target '{name}' speaks HTTP: add path = \"/\" to [load]")),
        (false, true) => Some(format!("target '{name}' speaks no HTTP: remove path from [load], or serve http")),
        _ => None,
    }
}

/// The entries of a table in the order of the text.
pub(super) fn entries<'t, 'a>(table: &'t DeTable<'a>) -> Vec<Entry<'t, 'a>> {
    let mut entries: Vec<Entry> = table.iter().map(|(key, value)| (&**key.get_ref(), key.span(), value)).collect();
    entries.sort_by_key(|(_, place, _)| place.start);
    entries
}

/// The text being read, to point at.
pub(super) struct Text<'s> {
    file: &'s str,
    source: &'s str,
}

impl Text<'_> {
    pub(super) fn fault(&self, place: Range<usize>, message: impl Into<String>) -> Fault {
        Fault::new(self.file, self.source, place, message)
    }

    fn load(&self, load: &mut Settings, table: &DeTable) -> Result<(), Fault> {
        let mut seen = Vec::new();
        for (key, place, value) in entries(table) {
            if !NAMES.contains(&key) {
                return Err(self.fault(place, format!("unknown key '{key}' in [load]{}", hint(key, NAMES))));
            }
            self.no_rival(key, place, &seen)?;
            load.set(key, &self.scalar(value, key)?).map_err(|e| self.fault(value.span(), format!("{key}: {e}")))?;
            seen.push(key);
        }
        Ok(())
    }

    fn sweep(&self, table: &DeTable) -> Result<Sweep, Fault> {
        let mut sweep = Sweep::default();
        for (key, place, value) in entries(table) {
            let seen: Vec<&str> = sweep.axes.iter().map(|axis| axis.name.as_str()).collect();
            self.no_rival(key, place.clone(), &seen)?;
            self.axis_name(key, place)?;
            if key == "path" {
                let message =
                    "path is no axis: put it into [load] with a placeholder, path = \"/{page}\", and sweep that";
                return Err(self.fault(value.span(), message));
            }
            let one = std::slice::from_ref(value);
            let list: &[Value] = if let DeValue::Array(list) = value.get_ref() { list } else { one };
            let mut values = Vec::new();
            for value in list {
                let usual = Settings::default().set(key, &self.scalar(value, key)?);
                let usual = usual.map_err(|e| self.fault(value.span(), format!("{key}: {e}")))?;
                if values.contains(&usual) {
                    return Err(self.fault(value.span(), format!("{key}: {usual} is listed twice")));
                }
                values.push(usual);
            }
            if values.is_empty() {
                return Err(self.fault(value.span(), format!("{key} has no values: list at least one, or remove it")));
            }
            sweep.axes.push(Axis { name: key.to_owned(), values });
        }
        Ok(sweep)
    }

    /// An axis of the plan's own must be usable as a placeholder and as a directory's name.
    fn axis_name(&self, key: &str, place: Range<usize>) -> Result<(), Fault> {
        let plain = key.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
        if !plain || key.is_empty() || key.len() > 32 {
            let message = format!("'{key}' cannot name an axis: up to 32 of a-z, 0-9 and _");
            return Err(self.fault(place, message));
        }
        if template::OWN.contains(&key) || ["target", "repeat"].contains(&key) {
            return Err(self.fault(place, format!("'{key}' has a meaning of its own and cannot name an axis")));
        }
        Ok(())
    }

    /// A total and an amount per core in one table would contradict each other.
    fn no_rival(&self, key: &str, place: Range<usize>, seen: &[&str]) -> Result<(), Fault> {
        for (total, each) in [("connections", "connections_per_core"), ("rate", "rate_per_core")] {
            if (key == total && seen.contains(&each)) || (key == each && seen.contains(&total)) {
                return Err(self.fault(place, format!("{total} and {each} exclude each other: keep one")));
            }
        }
        Ok(())
    }

    /// What only the whole plan shows: connections that nobody sets, axes that nobody uses or not every sweep has.
    fn check_axes(&self, plan: &Plan, entries: &[Entry], used: &[(String, Range<usize>)]) -> Result<(), Fault> {
        let place = |key: &str| entries.iter().find(|(k, ..)| *k == key).map_or(0..0, |(_, place, _)| place.clone());
        let product =
            |sweep: &Sweep| sweep.axes.iter().fold(plan.targets.len(), |n, axis| n.saturating_mul(axis.values.len()));
        let cells = plan.sweeps.iter().map(product).fold(0, usize::saturating_add);
        if cells > MOST_CELLS {
            let message =
                format!("the plan has {cells} cells, more than {MOST_CELLS}: sweep fewer values, or split it");
            return Err(self.fault(place("sweep"), message));
        }
        for sweep in &plan.sweeps {
            let has = |name: &str| sweep.axes.iter().any(|axis| axis.name == name);
            if plan.load.connections.is_none() && !has("connections") && !has("connections_per_core") {
                let message =
                    "nothing says how many connections: add connections or connections_per_core to [load] or [sweep]";
                return Err(self.fault(place("load"), message));
            }
            for (name, at) in used {
                if !has(name) {
                    return Err(self.fault(at.clone(), format!("{{{name}}} is not an axis of every [[sweep]]")));
                }
            }
            for axis in &sweep.axes {
                let known = NAMES.contains(&axis.name.as_str());
                if !known && !used.iter().any(|(name, _)| *name == axis.name) {
                    let (name, at) = (&axis.name, self.axis_place(entries, &axis.name));
                    let slip = nearest(name, NAMES.iter().copied());
                    let remedy = slip.map_or(String::new(), |near| format!("; did you mean '{near}'?"));
                    let message =
                        format!("no target uses {{{name}}}, so the axis '{name}' would change nothing{remedy}");
                    return Err(self.fault(at, message));
                }
            }
        }
        Ok(())
    }

    /// Where [load] sets this name.
    fn load_place(&self, document: &[Entry], name: &str) -> Range<usize> {
        let load =
            document.iter().find(|(key, ..)| *key == "load").and_then(|(_, _, value)| value.get_ref().as_table());
        let entry = load.into_iter().flat_map(|table| entries(table)).find(|(key, ..)| *key == name);
        entry.map_or(0..0, |(_, _, value)| value.span())
    }

    fn axis_place(&self, document: &[Entry], name: &str) -> Range<usize> {
        let sweeps =
            document.iter().filter(|(key, ..)| *key == "sweep").flat_map(|(_, _, value)| match value.get_ref() {
                DeValue::Array(list) => list.iter().collect(),
                _ => vec![*value],
            });
        sweeps
            .filter_map(|sweep| sweep.get_ref().as_table())
            .flat_map(|table| entries(table))
            .find(|(key, ..)| *key == name)
            .map_or(0..0, |(_, place, _)| place)
    }

    pub(super) fn table<'t, 'a>(&self, value: &'t Value<'a>, what: &str) -> Result<&'t DeTable<'a>, Fault> {
        value.get_ref().as_table().ok_or_else(|| self.fault(value.span(), format!("[{what}] must be a table")))
    }

    /// A text, a number or a truth value, as text.
    pub(super) fn scalar(&self, value: &Value, key: &str) -> Result<String, Fault> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            DeValue::Integer(number) if number.radix() == 10 => Ok(number.as_str().to_owned()),
            DeValue::Float(number) => Ok(number.as_str().to_owned()),
            DeValue::Boolean(truth) => Ok(truth.to_string()),
            DeValue::Array(_) => {
                Err(self.fault(value.span(), format!("{key} takes one value; several belong into [sweep]")))
            }
            _ => Err(self.fault(value.span(), format!("{key} takes a text or a number"))),
        }
    }

    pub(super) fn string(&self, value: &Value, key: &str) -> Result<String, Fault> {
        match value.get_ref() {
            DeValue::String(text) => Ok(text.to_string()),
            _ => Err(self.fault(value.span(), format!("{key} must be a text in quotes"))),
        }
    }

    pub(super) fn strings<'t, 'a>(
        &self,
        value: &'t Value<'a>,
        key: &str,
    ) -> Result<Vec<(String, &'t Value<'a>)>, Fault> {
        let DeValue::Array(list) = value.get_ref() else {
            return Err(self.fault(value.span(), format!("{key} must be a list of texts, such as [\"a\", \"b\"]")));
        };
        list.iter().map(|word| Ok((self.string(word, key)?, word))).collect()
    }

    /// A text that can name a directory and stand in `--only`.
    pub(super) fn name(&self, value: &Value, key: &str) -> Result<String, Fault> {
        let name = self.string(value, key)?;
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
        if name.is_empty() || name.len() > 64 || name.starts_with('.') || !name.chars().all(plain) {
            let message =
                format!("{key} '{name}' must be 1 to 64 letters, digits, - _ . or +, and not begin with a dot");
            return Err(self.fault(value.span(), message));
        }
        Ok(name)
    }

    pub(super) fn whole(&self, value: &Value, key: &str, range: std::ops::RangeInclusive<u64>) -> Result<u64, Fault> {
        let number = match value.get_ref() {
            DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
            _ => None,
        };
        number.filter(|n| range.contains(n)).ok_or_else(|| {
            let (low, high) = (range.start(), range.end());
            self.fault(value.span(), format!("{key} must be a whole number from {low} to {high}"))
        })
    }
}

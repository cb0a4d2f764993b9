//! The JSON of a load: an object with the name of each setting that was set, and its text as on the command line; `true` for a
//! flag without a value, a list for several values.

use crate::value::Kind;
use crate::{LoadSpec, table};
use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::ffi::OsStr;
use std::fmt;

const URLS: &str = "urls";

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Texts {
    Switch(bool),
    One(String),
    Several(Vec<String>),
}

impl Serialize for LoadSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if !self.urls.is_empty() {
            map.serialize_entry(URLS, &self.urls)?;
        }
        for setting in self.settings() {
            let mut texts = setting.texts(self);
            let value = match setting.kind {
                Kind::Switch => Texts::Switch(true),
                _ if setting.is_list => Texts::Several(texts),
                _ => Texts::One(texts.remove(0)),
            };
            map.serialize_entry(setting.name, &value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for LoadSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Settings)
    }
}

struct Settings;

impl<'de> Visitor<'de> for Settings {
    type Value = LoadSpec;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the settings of a load")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<LoadSpec, A::Error> {
        let mut spec = LoadSpec::default();
        while let Some(name) = map.next_key::<String>()? {
            if name == URLS {
                spec.urls = map.next_value()?;
                continue;
            }
            let Some(setting) = table().find(|setting| setting.name == name) else {
                map.next_value::<IgnoredAny>()?;
                return Err(A::Error::custom(format!("'{name}' is not a setting of a load")));
            };
            let texts = match map.next_value()? {
                Texts::Switch(is_on) => vec![is_on.to_string()],
                Texts::One(text) => vec![text],
                Texts::Several(texts) => texts,
            };
            for text in texts {
                let added = setting.add(&mut spec, OsStr::new(&text));
                added.map_err(|why| A::Error::custom(format!("{name}: {why}")))?;
            }
        }
        Ok(spec)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CountOrFile, Factor, Setting, Written};
    use brunt_results::stages::Range;
    use brunt_results::{Count, Rate, Size, Span};
    use proptest::prelude::*;
    use std::time::Duration;

    /// A text that the setting takes.
    fn text(setting: &Setting) -> BoxedStrategy<String> {
        let pattern = match (setting.name, setting.kind) {
            ("connections", _) => "[1-9][0-9]{0,4}k?(:[1-9][0-9]{0,4})?",
            ("rate", _) => "[1-9][0-9]{0,4}(\\.[0-9]{1,3})?k?(:[1-9][0-9]{0,4})?",
            ("stages", _) => "(c=)?[1-9][0-9]{0,3}(:[1-9][0-9]{0,3})?@[1-9][0-9]{0,2}(ms|s|m)",
            ("cores", _) => "[0-9],1[0-9]-2[0-9]",
            ("speed", _) => "[1-9][0-9]{0,2}(\\.[0-9]{1,6})?x?",
            ("percentiles", _) => "p?[1-9][0-9](\\.[1-9]{1,2})?",
            (_, Kind::Switch) => "true",
            (_, Kind::OneOf(words)) => return proptest::sample::select(words).prop_map(str::to_owned).boxed(),
            (_, Kind::Count) => "[1-9][0-9]{0,8}",
            (_, Kind::Rate) => "[1-9][0-9]{0,5}(\\.[0-9]{1,3})?k?",
            (_, Kind::Size) => "[1-9][0-9]{0,5}(B|KiB|MiB)",
            (_, Kind::Span) => "[1-9][0-9]{0,4}(\\.[0-9]{1,3})?(us|ms|s|m)?",
            (_, Kind::File | Kind::Text) => ".{0,12}",
        };
        pattern.boxed()
    }

    /// A description with some of all settings, from texts.
    fn described() -> impl Strategy<Value = LoadSpec> {
        let some = |setting: &'static Setting| {
            let most = if setting.is_list { 3 } else { 1 };
            let texts = proptest::collection::vec(text(setting), 0..=most);
            texts.prop_map(move |texts| (setting, texts))
        };
        let settings: Vec<_> = table().map(some).collect();
        let urls = proptest::collection::vec("(http|https|tcp|unix)://.{0,12}", 0..3);
        (urls, settings).prop_map(|(urls, settings)| {
            let mut spec = LoadSpec { urls, ..LoadSpec::default() };
            for (setting, text) in
                settings.iter().flat_map(|(setting, texts)| texts.iter().map(move |text| (setting, text)))
            {
                setting.add(&mut spec, OsStr::new(text)).unwrap_or_else(|why| panic!("{setting:?}: {why}"));
            }
            spec
        })
    }

    proptest! {
        #[test]
        fn any_description_is_read_back(
            spec in described(),
            rates in (1e-6..1e15f64, 1e-6..1e7f64, 1e-3..1e6f64),
            (ns, size, count) in (0..1u64 << 53, 0..1u64 << 52, 0..1u64 << 52),
            path in "[a-z/.]{1,12}",
        ) {
            // Values that were computed, as those of a search.
            let computed = LoadSpec {
                rate: Some(Range { from: Rate(rates.0), to: Rate(rates.1) }),
                connect_rate: Some(Rate(rates.1 / 3.0)),
                speed: Some(Factor(rates.2)),
                duration: Some(Span(Duration::from_nanos(ns))),
                size: Some(Size(size)),
                requests: Some(Count(count)),
                requests_or_file: Some(CountOrFile::read(OsStr::new(&path)).unwrap()),
                ..spec.clone()
            };
            for spec in [spec, computed] {
                let json = serde_json::to_string(&spec).unwrap();
                prop_assert_eq!(serde_json::from_str::<LoadSpec>(&json).unwrap(), spec, "{}", json);
            }
        }
    }

    #[test]
    fn what_was_set_is_text_and_is_read_back() {
        let text = r#"{"urls":["http://h/"],"connections":"10:200","duration":"90s","stages":["1k:5k@1m","500@30s"],"arrival":"poisson","steady":true,"header":["A: b,c","D: e"],"percentiles":["p97.5"]}"#;
        let spec: LoadSpec = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&spec).unwrap(), text);
        let words = "http://h/ -c 10:200 -d 90s --stages 1k:5k@1m,500@30s --arrival poisson --steady -H A: b,c -H D: e \
                     --percentiles p97.5";
        assert_eq!(spec.words().join(" "), words);
        assert_eq!(serde_json::to_string(&LoadSpec::default()).unwrap(), "{}");
    }

    #[test]
    fn unknown_names_and_wrong_values_are_named() {
        for (text, says) in [
            (r#"{"conections":"1"}"#, "'conections' is not a setting"),
            (r#"{"connections":"x"}"#, "connections: 'x'"),
            (r#"{"arrival":"bursty"}"#, "arrival: 'bursty' is not one of constant, poisson"),
        ] {
            let error = serde_json::from_str::<LoadSpec>(text).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}

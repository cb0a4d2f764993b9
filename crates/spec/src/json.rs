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
        for setting in table().filter(|setting| setting.is_set(self)) {
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

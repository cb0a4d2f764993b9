//! The flags of [`brunt_spec::LoadSpec`], as its table describes them.

use brunt_inputs::{address, address::ConnectTo, proxy::Proxy};
use brunt_load::{LocalAddrs, http::Statuses};
use brunt_spec::{Heading, Kind, LoadSpec, Setting, table};
use clap::builder::{OsStringValueParser, PathBufValueParser, PossibleValuesParser, TypedValueParser, ValueParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches, ValueHint};
use std::ffi::OsString;
use std::fmt::Display;
use std::ops::Deref;
use std::str::FromStr;

const URLS: &str = "urls";

/// A load that flags describe: URLs, and the flags of every heading but that of results.
#[derive(Debug)]
pub(in crate::cmd) struct Described(LoadSpec);

impl Deref for Described {
    type Target = LoadSpec;

    fn deref(&self) -> &LoadSpec {
        &self.0
    }
}

impl clap::Args for Described {
    fn augment_args(command: Command) -> Command {
        let urls = Arg::new(URLS)
            .value_name("URL")
            .num_args(1..)
            .action(ArgAction::Append)
            .required_unless_present("requests_or_file")
            .help(format!("Target: {}", address::SCHEMES));
        command.arg(urls).args(table().filter(|setting| setting.heading != Heading::Result).map(arg))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Described {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let urls = matches.get_many::<String>(URLS).into_iter().flatten().cloned().collect();
        let mut spec = LoadSpec { urls, ..LoadSpec::default() };
        // A default is not a description.
        // Of a command without flags of results, those are not known.
        let is_known = |setting: &&Setting| matches.try_contains_id(setting.name).is_ok();
        let is_given = |setting: &&Setting| matches.value_source(setting.name) == Some(ValueSource::CommandLine);
        for setting in table().filter(is_known).filter(is_given) {
            let texts: Vec<OsString> = match setting.kind {
                Kind::Switch => vec![matches.get_flag(setting.name).to_string().into()],
                _ => matches.get_many::<OsString>(setting.name).into_iter().flatten().cloned().collect(),
            };
            for text in texts {
                let added = setting.add(&mut spec, &text);
                added.map_err(|why| clap::Error::raw(clap::error::ErrorKind::ValueValidation, why))?;
            }
        }
        Ok(Self(spec))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The flags of results, which help lists later. Their values are in [`Described`].
#[derive(Debug, Default)]
pub(super) struct OfResults;

impl clap::Args for OfResults {
    fn augment_args(command: Command) -> Command {
        command.args(table().filter(|setting| setting.heading == Heading::Result).map(arg))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for OfResults {
    fn from_arg_matches(_: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self)
    }

    fn update_from_arg_matches(&mut self, _: &ArgMatches) -> Result<(), clap::Error> {
        Ok(())
    }
}

fn arg(setting: &'static Setting) -> Arg {
    let mut arg = Arg::new(setting.name).help(setting.help).help_heading(setting.heading.text());
    arg = setting.short.into_iter().fold(arg, Arg::short);
    arg = setting.long.into_iter().fold(arg, Arg::long);
    arg = setting.short_alias.into_iter().fold(arg, Arg::visible_short_alias);
    arg = setting.alias.into_iter().fold(arg, Arg::visible_alias);
    arg = setting.requires.into_iter().fold(arg, Arg::requires);
    arg = setting.conflicts.into_iter().fold(arg, Arg::conflicts_with);
    if setting.kind == Kind::Switch {
        return arg.action(ArgAction::SetTrue);
    }
    arg = arg.value_name(setting.value_name).value_parser(parser(setting));
    arg = setting.default.into_iter().fold(arg, Arg::default_value);
    if setting.kind == Kind::File {
        arg = arg.value_hint(ValueHint::AnyPath);
    }
    if setting.separated {
        arg = arg.value_delimiter(',');
    }
    arg.action(if setting.is_list { ArgAction::Append } else { ArgAction::Set })
}

/// Reads the text of a value, and refuses what the setting refuses.
fn parser(setting: &'static Setting) -> ValueParser {
    match setting.kind {
        Kind::OneOf(words) => PossibleValuesParser::new(words).map(OsString::from).into(),
        Kind::File => PathBufValueParser::new().map(OsString::from).into(),
        _ => {
            let read = move |text: OsString| {
                setting.add(&mut LoadSpec::default(), &text)?;
                text.to_str().map_or(Ok(()), |text| foreign(setting.name, text)).map(|()| text)
            };
            OsStringValueParser::new().try_map(read).into()
        }
    }
}

/// Refuses values of types that the description holds as text.
fn foreign(name: &str, text: &str) -> Result<(), String> {
    fn of<T: FromStr<Err: Display>>(text: &str) -> Result<(), String> {
        text.parse::<T>().map(drop).map_err(|error| error.to_string())
    }
    match name {
        "source" => of::<LocalAddrs>(text),
        "connect_to" => of::<ConnectTo>(text),
        "proxy" => of::<Proxy>(text),
        "expect_status" => of::<Statuses>(text),
        "tls_version" => super::tls::version(text).map(drop),
        _ => Ok(()),
    }
}

/// A value that was checked when it was read as a flag; not one of a stored description.
pub(super) fn parsed<T: FromStr<Err: Display>>(
    flag: &str,
    text: Option<&String>,
) -> Result<Option<T>, brunt_results::Error> {
    let parse = |text: &String| text.parse().map_err(|error| brunt_results::Error::Usage(format!("{flag}: {error}")));
    text.map(parse).transpose()
}

#[cfg(test)]
mod tests {
    use super::super::words::Line;
    use brunt_spec::{DIRECT, Kind, LoadSpec};
    use clap::Parser;

    fn read(words: &[&str]) -> LoadSpec {
        Line::try_parse_from(words).unwrap_or_else(|error| panic!("{error}")).args.spec.clone()
    }

    /// A value of every setting; those that the generator takes as they are need none here.
    const EVERY: [&str; 4] = [
        "http://h/a http://h/b -c 10:200 --connections-per-core 80 -t 2 --cores 0,2-3 --backend epoll -z 10 -n 1000000 -q 1k:50k \
         --stages 1000:5k@1m,c=10@30s --rate-per-core 500 --arrival poisson --size 1024 -T 1.5 --warmup 500ms --steady \
         --connect-rate 0.5 --source 127.0.0.0/8 --seed 7 --no-keepalive --reuse 20",
        "http://h/ --replay /tmp/log --speed 2x -X PUT -H A:b,c -H D:e --body=-x --weight 3,1 --names home,cart --connect-to h:1 \
         --bearer t --pipeline 4 --vary 4000 --http1.0 --expect-status 2xx,404 --expect-length 3B --expect-body x \
         --strict-http --max-header 64KiB --max-fields 50 -L --max-redirs 3 -k --no-resumption --tls-version 1.3 --percentiles 50,p99.99",
        "http://h/ --requests a.har --proxy http://h:2 --proxy-auth p --basic-auth f --cacert a --cert b --key c",
        "--requests 20k http://h/ -d 90s",
    ];

    fn direct() -> LoadSpec {
        let mut spec = LoadSpec { urls: vec!["tcp://h:1".to_owned()], ..LoadSpec::default() };
        for setting in DIRECT {
            let text = match setting.kind {
                Kind::Switch => "true",
                Kind::OneOf(words) => words[words.len() - 1],
                Kind::Count | Kind::Rate | Kind::File | Kind::Text => "7",
                Kind::Size => "7B",
                Kind::Span => "7s",
            };
            setting.add(&mut spec, text.as_ref()).unwrap();
        }
        spec
    }

    #[test]
    fn words_and_json_of_every_setting_are_read_back() {
        let mut seen = std::collections::BTreeSet::new();
        let lines = EVERY.map(|line| read(&line.split_whitespace().collect::<Vec<_>>()));
        for spec in lines.into_iter().chain([direct()]) {
            let words = spec.words();
            assert_eq!(read(&words.iter().map(String::as_str).collect::<Vec<_>>()), spec, "{words:?}");
            let json = serde_json::to_string(&spec).unwrap();
            assert_eq!(serde_json::from_str::<LoadSpec>(&json).unwrap(), spec, "{json}");
            seen.extend(brunt_spec::table().filter(|setting| setting.is_set(&spec)).map(|setting| setting.name));
        }
        let unseen: Vec<&str> =
            brunt_spec::table().map(|setting| setting.name).filter(|name| !seen.contains(name)).collect();
        assert!(unseen.is_empty(), "no flag of EVERY sets {unseen:?}");
    }

    #[test]
    fn a_default_is_not_described() {
        assert_eq!(read(&["tcp://h:1"]), LoadSpec { urls: vec!["tcp://h:1".to_owned()], ..LoadSpec::default() });
    }
}

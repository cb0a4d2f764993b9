//! Names of the URLs of a load.

use super::usage;
use brunt_inputs::address::{Protocol, Url};
use brunt_results::{Error, Threshold};
use std::collections::HashMap;

/// Without names of their own, more URLs than this have none: each costs 130 KiB a load thread.
const MOST: usize = 100;
const LONGEST: usize = 64;

/// The names, and the number of each URL's; none of a single URL without a name of its own.
pub(super) fn of(given: &[String], urls: &[Url]) -> Result<(Vec<String>, Vec<u16>), Error> {
    if !given.is_empty() && given.len() != urls.len() {
        return usage(format!("--names has {} names for {} URLs: give one for each", given.len(), urls.len()));
    }
    if let Some(name) = given.iter().find(|name| !is_valid(name)) {
        return usage(format!(
            "--names: '{}' is not a name of 1 to {LONGEST} characters without : < > and blanks",
            name.escape_debug()
        ));
    }
    if given.is_empty() && !(2..=MOST).contains(&urls.len()) {
        return Ok(Default::default());
    }
    let several = urls.iter().any(|url| (&url.host, url.port) != (&urls[0].host, urls[0].port));
    let default = |url: &Url| match &url.protocol {
        Protocol::Http { authority, target, .. } if several => format!("{authority}{target}"),
        Protocol::Http { target, .. } => target.clone(),
        _ => String::new(),
    };
    let (mut names, mut numbers) = (Vec::new(), Vec::new());
    for (place, url) in urls.iter().enumerate() {
        let name = given.get(place).cloned().unwrap_or_else(|| default(url));
        let number = names.iter().position(|known| *known == name).unwrap_or_else(|| {
            names.push(name);
            names.len() - 1
        });
        numbers.push(u16::try_from(number).map_err(|_| Error::Usage(format!("--names: at most {} names", u16::MAX)))?);
    }
    Ok((names, numbers))
}

/// `METHOD PATH` of each request, without the query, and its number; none if there is one name alone, or more than [`MOST`].
pub(super) fn of_requests<'a>(requests: impl Iterator<Item = (&'a str, &'a Url)> + Clone) -> (Vec<String>, Vec<u16>) {
    let host = |url: &'a Url| (&url.host, url.port);
    let first = requests.clone().next().map(|(_, url)| host(url));
    let several = requests.clone().any(|(_, url)| Some(host(url)) != first);
    let (mut names, mut known) = (Vec::new(), HashMap::new());
    let mut numbers = Vec::new();
    for (method, url) in requests {
        let Protocol::Http { authority, target, .. } = &url.protocol else { continue };
        let path = target.split('?').next().unwrap_or_default();
        let key = (method, if several { &authority[..] } else { "" }, path);
        let number = *known.entry(key).or_insert_with(|| {
            names.push(format!("{} {}{}", key.0, key.1, key.2));
            names.len() - 1
        });
        if names.len() > MOST {
            return Default::default();
        }
        // Below MOST.
        numbers.push(number as u16);
    }
    if names.len() < 2 { Default::default() } else { (names, numbers) }
}

/// Checks that the load has every name that a bound is about.
pub(super) fn check(bounds: &[Threshold], names: &[String]) -> Result<(), Error> {
    let is_unknown = |bound: &&Threshold| bound.name.as_ref().is_some_and(|name| !names.contains(name));
    let Some(bound) = bounds.iter().find(is_unknown) else { return Ok(()) };
    let known = match names {
        [] => "none of its parts has a name".to_owned(),
        names => format!("its names are {}", names.join(", ")),
    };
    usage(format!("--fail-if '{bound}' is about a part that the load does not have: {known}"))
}

fn is_valid(name: &str) -> bool {
    let allowed = |c: char| !c.is_whitespace() && !c.is_control() && !matches!(c, ':' | '<' | '>');
    (1..=LONGEST).contains(&name.chars().count()) && name.chars().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_inputs::address::parse;

    #[test]
    fn urls_are_named_by_path_by_host_or_as_given() {
        let urls = |all: &[&str]| all.iter().map(|url| parse(url).unwrap()).collect::<Vec<_>>();
        let strings = |all: &[&str]| all.iter().map(ToString::to_string).collect::<Vec<_>>();
        let two = urls(&["http://a/x", "http://a/y?z=1", "http://a/x"]);
        assert_eq!(of(&[], &two).unwrap(), (strings(&["/x", "/y?z=1"]), vec![0, 1, 0]));
        assert_eq!(of(&[], &urls(&["http://a/x", "http://b:81/x"])).unwrap().0, strings(&["a/x", "b:81/x"]));
        assert_eq!(of(&strings(&["in", "out", "in"]), &two).unwrap(), (strings(&["in", "out"]), vec![0, 1, 0]));
        assert_eq!(of(&[], &two[..1]).unwrap(), Default::default());
        assert_eq!(of(&strings(&["one"]), &two[..1]).unwrap().0, strings(&["one"]));
        for wrong in ["", "a b", "a:b", "a>b", &"x".repeat(65)] {
            let error = of(&strings(&[wrong]), &two[..1]).unwrap_err().to_string();
            assert!(error.contains(&format!("'{wrong}'")), "{error}");
        }
        assert!(of(&strings(&["one"]), &two).unwrap_err().to_string().contains("1 names for 3 URLs"));
    }

    #[test]
    fn requests_are_named_by_method_and_path() {
        let names = |all: &[(&str, &str)]| {
            let urls: Vec<(&str, Url)> = all.iter().map(|(method, url)| (*method, parse(url).unwrap())).collect();
            of_requests(urls.iter().map(|(method, url)| (*method, url)))
        };
        let (told, numbers) = names(&[("GET", "http://a/x?y=1"), ("PUT", "http://a/x"), ("GET", "http://a/x?y=2")]);
        assert_eq!((told, numbers), (vec!["GET /x".to_owned(), "PUT /x".to_owned()], vec![0, 1, 0]));
        assert_eq!(names(&[("GET", "http://a/x"), ("GET", "http://b/x")]).0, ["GET a/x", "GET b/x"]);
        assert_eq!(names(&[("GET", "http://a/x"), ("GET", "http://a/x?2")]), Default::default());
        let many: Vec<String> = (0..=MOST).map(|number| format!("http://a/{number}")).collect();
        let many: Vec<(&str, &str)> = many.iter().map(|url| ("GET", &url[..])).collect();
        assert_eq!((names(&many).0.len(), names(&many[1..]).0.len()), (0, MOST));
    }
}

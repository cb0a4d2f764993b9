//! A minimal XML checker for charts.

/// Checks nesting of tags, quoting of attributes and escaping of text; returns the contents of the text elements.
#[track_caller]
pub fn texts(svg: &str) -> Vec<String> {
    let (mut open, mut texts, mut rest) = (Vec::<String>::new(), Vec::new(), svg);
    while let Some((before, after)) = rest.split_once('<') {
        let said = unescaped(before);
        if open.last().is_some_and(|tag| tag == "text" || tag == "title") {
            texts.push(said.trim().to_owned());
        } else if open.last().is_none_or(|tag| tag != "desc") {
            assert_eq!(said.trim(), "", "text outside of an element in\n{svg}");
        }
        let (tag, after) = after.split_once('>').unwrap_or_else(|| panic!("a tag without an end in\n{svg}"));
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "{svg}");
            continue;
        }
        let name = tag.split([' ', '/']).next().unwrap_or_default();
        assert!(name.chars().all(|c| c.is_ascii_alphabetic()) && !name.is_empty(), "<{tag}> in\n{svg}");
        for (index, part) in tag.split('"').enumerate() {
            if index % 2 == 1 {
                unescaped(part);
                assert!(!part.contains("NaN") && !part.contains("inf"), "<{tag}>");
            }
        }
        assert!(tag.matches('"').count() % 2 == 0, "<{tag}>");
        if !tag.ends_with('/') {
            open.push(name.to_owned());
        }
    }
    assert!(open.is_empty() && rest.trim().is_empty(), "{open:?} is not closed in\n{svg}");
    texts
}

/// Decodes entities; panics on a bare `&` or an invalid character.
#[track_caller]
fn unescaped(text: &str) -> String {
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
    let mut out = text.to_owned();
    if !text.contains('&') {
        return out;
    }
    for (entity, character) in [("lt", '<'), ("gt", '>'), ("quot", '"'), ("apos", '\'')] {
        out = out.replace(&format!("&{entity};"), &character.to_string());
    }
    assert_eq!(out.matches('&').count(), out.matches("&amp;").count(), "{text}");
    out.replace("&amp;", "&")
}

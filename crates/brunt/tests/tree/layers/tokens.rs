//! The text of a source file as tokens.

/// Identifiers, `::`, and single characters of other punctuation; without comments and literals.
pub fn tokens(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let at = |i: usize| chars.get(i).copied().unwrap_or('\0');
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let (mut all, mut i) = (Vec::new(), 0);
    while i < chars.len() {
        let start = i;
        match at(i) {
            '/' if at(i + 1) == '/' => i = (i..chars.len()).find(|i| at(*i) == '\n').unwrap_or(chars.len()),
            '/' if at(i + 1) == '*' => {
                i = (i + 2..chars.len()).find(|i| at(*i) == '*' && at(*i + 1) == '/').map_or(chars.len(), |i| i + 2);
            }
            '"' => {
                i += 1;
                while i < chars.len() && at(i) != '"' {
                    i += if at(i) == '\\' { 2 } else { 1 };
                }
                i += 1;
            }
            // A character, or a lifetime.
            '\'' if at(i + 1) == '\\' => {
                i = (i + 3..chars.len()).find(|i| at(*i) == '\'').map_or(chars.len(), |i| i + 1)
            }
            '\'' if at(i + 2) == '\'' => i += 3,
            '\'' => i = (i + 1..chars.len()).find(|i| !is_word(at(*i))).unwrap_or(chars.len()),
            c if is_word(c) => {
                i = (i..chars.len()).find(|i| !is_word(at(*i))).unwrap_or(chars.len());
                let word: String = chars[start..i].iter().collect();
                let hashes = (i..chars.len()).take_while(|i| at(*i) == '#').count();
                if matches!(word.as_str(), "r" | "br" | "cr") && at(i + hashes) == '"' {
                    let ends = |i: usize| at(i) == '"' && (1..=hashes).all(|n| at(i + n) == '#');
                    let begin = i + hashes + 1;
                    i = (begin..chars.len()).find(|i| ends(*i)).map_or(chars.len(), |i| i + hashes + 1);
                } else {
                    all.push(word);
                }
            }
            ':' if at(i + 1) == ':' => {
                all.push("::".to_owned());
                i += 2;
            }
            c => {
                if !c.is_whitespace() {
                    all.push(c.to_string());
                }
                i += 1;
            }
        }
    }
    all
}

pub fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

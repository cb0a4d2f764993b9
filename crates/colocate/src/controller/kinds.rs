//! The kinds of the jobs of a run, by the order in which they first ran.

use crate::readings::Kinds;

#[derive(Debug, Default)]
pub(super) struct Names(Vec<String>);

impl Names {
    /// Jobs of these kinds run.
    pub(super) fn kinds<'a>(&mut self, running: impl Iterator<Item = &'a str>) -> Kinds {
        running.fold(Kinds::default(), |kinds, name| {
            let known = self.0.iter().position(|known| known == name);
            kinds.with(known.unwrap_or_else(|| {
                self.0.push(name.to_owned());
                self.0.len() - 1
            }))
        })
    }

    pub(super) fn of(&self, kinds: Kinds) -> Vec<String> {
        let all = self.0.iter().enumerate();
        all.filter(|(number, _)| kinds.has(*number)).map(|(_, name)| name.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_have_names_and_many_share_the_last() {
        let mut names = Names::default();
        let both = names.kinds(["xz", "ffmpeg", "xz"].into_iter());
        assert_eq!(names.of(both), ["xz", "ffmpeg"]);
        let one = names.kinds(["ffmpeg"].into_iter());
        assert_eq!(names.of(one), ["ffmpeg"]);
        let many: Vec<String> = (0..100).map(|number| number.to_string()).collect();
        let all = names.kinds(many.iter().map(String::as_str));
        assert!(all.has(63) && !all.has(0));
        assert_eq!(names.kinds(["98"].into_iter()), names.kinds(["99"].into_iter()));
    }
}

//! Pressure stall information: time in which tasks waited for a resource (Documentation/accounting/psi.rst).

use std::fs;

/// Resources, by file name below `/proc/pressure`.
pub(super) const RESOURCES: [&str; 3] = ["cpu", "memory", "io"];

/// Time in which at least one task waited for the resource, since boot, in microseconds; `None` without CONFIG_PSI.
pub(super) fn some_us(resource: &str) -> Option<u64> {
    parse(&fs::read_to_string(format!("/proc/pressure/{resource}")).ok()?)
}

fn parse(text: &str) -> Option<u64> {
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    some.split(' ').find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_of_some_is_read() {
        let text = "some avg10=39.93 avg60=11.04 avg300=6.45 total=11167974409\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";
        assert_eq!(parse(text), Some(11_167_974_409));
        assert_eq!(parse("full avg10=0.00 total=7\n"), None);
        assert_eq!(parse(""), None);
        assert_eq!(some_us("nothing"), None);
    }
}

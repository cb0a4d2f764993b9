//! Frequency of the processors from `cpufreq` in sysfs, which virtual machines rarely have.

use std::{fs, path::Path};

const CPUS: &str = "/sys/devices/system/cpu";

/// The current mean over all processors, in MHz; `None` if none reports it.
pub(super) fn mean_mhz() -> Option<f64> {
    mean_below(Path::new(CPUS))
}

fn mean_below(cpus: &Path) -> Option<f64> {
    let khz = |entry: fs::DirEntry| -> Option<f64> {
        fs::read_to_string(entry.path().join("cpufreq/scaling_cur_freq")).ok()?.trim().parse().ok()
    };
    let all: Vec<f64> = fs::read_dir(cpus).ok()?.flatten().filter_map(khz).collect();
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64 / 1000.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mean_is_in_megahertz_and_absent_without_files() {
        let home = std::env::temp_dir().join(format!("brunt-frequency-{}", std::process::id()));
        assert_eq!(mean_below(&home), None);
        for (cpu, khz) in [("cpu0", "2000000\n"), ("cpu1", "3000000\n")] {
            fs::create_dir_all(home.join(cpu).join("cpufreq")).unwrap();
            fs::write(home.join(cpu).join("cpufreq/scaling_cur_freq"), khz).unwrap();
        }
        fs::create_dir_all(home.join("cpuidle")).unwrap();
        assert_eq!(mean_below(&home), Some(2500.0));
        fs::remove_dir_all(&home).unwrap();
    }
}

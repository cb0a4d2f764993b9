use super::*;

const GOOD: &str = r#"
time = "60s"
cores = "1"
[service]
listen = "8080"
slo = "p99<6ms"
peak = "10k"
[source]
file = "counts.jsonl"
[[job]]
command = ["xz", "-k", "logs.tar"]
"#;

#[test]
fn a_plan_has_defaults() {
    let plan = Plan::parse("p.toml", GOOD).unwrap();
    assert_eq!((plan.policy, plan.floor, plan.source.stale.0), (Choice::Graded, 0.05, Duration::from_secs(1)));
    assert_eq!(plan.service.slo, Objective { quantile: 0.99, limit_ms: 6.0 });
    assert!(plan.until_empty());
    let repeated = GOOD.to_owned() + "repeat = true\n";
    assert!(!Plan::parse("p.toml", &repeated).unwrap().until_empty());
}

#[test]
fn numbers_may_be_numbers() {
    let text = GOOD.replace("\"10k\"", "10000").replace("listen = \"8080\"", "pid = 7") + "term_grace = \"4s\"\n";
    let plan = Plan::parse("p.toml", &("at_once = 2\n".to_owned() + &text + "[limits]\nprocesses = 64\n")).unwrap();
    assert_eq!((plan.at_once, plan.service.pid, plan.service.peak), (Some(Count(2)), Some(7), Some(Rate(1e4))));
    assert_eq!(plan.limits.processes, Some(Count(64)));
    assert_eq!(plan.jobs[0].term_grace, Some(Span(Duration::from_secs(4))));
}

#[test]
fn errors_name_the_place_and_the_remedy() {
    for (from, to, said) in [
        ("listen = \"8080\"", "", "[service] has none of pid, listen, cgroup, command"),
        ("listen = \"8080\"", "listen = \"8080\"\npid = 7", "[service] has pid and listen: only one"),
        ("p99<6ms", "rate>6", "p.toml:6: 'rate>6' is not a limit of one percentile"),
        ("p99<6ms", "p99<6ms,p50<1ms", "is not a limit of one percentile; write one as in p99<6ms"),
        ("file =", "fil =", "p.toml:9: unknown field `fil`"),
        ("60s", "60", "p.toml:2: '60' is not a time"),
        ("cores = \"1\"", "policy = \"best\"", "p.toml:3: 'best' is no policy"),
        ("cores = \"1\"", "floor = 0.0", "floor = 0: it must be from 0.001"),
        ("[\"xz\", \"-k\", \"logs.tar\"]", "[]", "[[job]] command is empty"),
        ("[[job]]", "[[job]]\nprogress = '\\d+'", "[[job]] progress: '\\d+' has no group"),
        ("[[job]]", "[queue]\n[[job]]", "it has [queue] and [[job]]"),
        ("[\"xz\", \"-k\", \"logs.tar\"]", "\"xz -k big\"", "write [\"xz\", \"-k\", \"big\"]"),
        ("listen = \"8080\"", "pid = \"nginx\"", "it must be the number of a process, such as 4711"),
        ("cores = \"1\"", "at_once = []", "p.toml:3: it must be a count, such as 64 or \"20k\""),
        ("\"10k\"", "\"fast\"", "p.toml:7: 'fast' is not a rate"),
        ("[[job]]", "[[job]]\nuser = \"nobody-here\"", "[[job]] user nobody-here: there is no user 'nobody-here'"),
        ("[[job]]", "[[job]]\nuser = \"\"", "[[job]] user : there is no user ''"),
        ("[[job]]", "[[job]]\nretries = -1", "p.toml:11: it must be a number of further starts, such as 3"),
        ("cores = \"1\"", "grace = 4", "expected a time such as 50us, 10ms, 1.5s, 2m or 1h30m, in quotes"),
        ("cores = \"1\"", "cores = 1", "expected a list of cores such as 1 or 0,2-3, in quotes"),
        ("60s", "0s", "time = \"0s\": a run has to last"),
        ("cores = \"1\"", "audit = \"0\"", "audit = \"0B\": at least 1MiB"),
        ("p99<6ms", "p100<6ms", "'p100<6ms' is not a limit of one percentile above 0 and below 100"),
        ("p99<6ms", "p99<0ms", "'p99<0ms': no request takes no time"),
        ("[[job]]", "[[job]]\nmemory = \"4KiB\"", "[[job]] memory is less than any program needs: at least 1MiB"),
        ("[[job]]", "[[job]]\nprocesses = 0", "[[job]] processes is 0: at least one must be able to run"),
        ("[[job]]", "[[job]]\ncores = \"0-1\"", "it must be CPU time in cores, such as 2 or 0.5"),
        ("[[job]]", "[[job]]\ncores = 0", "[[job]] cores is CPU time, in cores, from 0.001 to 10000"),
        ("[[job]]", "[[job]]\nkind = \" \"", "[[job]] kind is a word or some, without a comma"),
        ("listen = \"8080\"", "listen = \"8080\"\ncores = \"0\"", "[service] cores is for a command"),
        ("file = \"counts.jsonl\"", "prometheus = \"http://127.0.0.1/\"", "[source] metric names the histogram"),
    ] {
        let error = Plan::parse("p.toml", &GOOD.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.contains(said) && !error.contains('\n'), "{error}");
    }
}

//! Invalid configurations: exit code and one line with the value and the remedy.

use crate::shared::client::command;

#[track_caller]
fn refused(flags: &str, code: i32) -> String {
    let output = command(flags).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(code), "{flags}: {said}");
    assert!(output.stdout.is_empty());
    said
}

#[test]
fn bad_flags_are_refused_with_a_remedy() {
    for (flags, words) in [
        ("--service helo", "choose one of hello, echo, whoami, httpbin"),
        ("--listen 8080", "write an address and a port"),
        ("--service hello --routes x.toml", "cannot be used with"),
        ("--routes /no/such/file.toml", "cannot read the routes in '/no/such/file.toml'"),
        ("--idle-timeout 0s", "must be above zero"),
        ("--header-timeout 10", "is not a time such as"),
        ("--max-header 1B", "from 64B to 16MiB"),
        ("--max-fields 101", "from 1 to 100"),
        ("--max-body many", "is not a size such as"),
    ] {
        let said = refused(flags, 2);
        assert!(said.contains(words), "{flags}: {said}");
    }
}

#[test]
fn a_bad_routes_file_is_one_line_with_its_place() {
    let directory = brunt_testkit::home();
    let file = directory.path().join("routes.toml");
    std::fs::write(&file, "[[route]]\npath = \"/\"\nstats = 200\n").unwrap();
    let said = refused(&format!("--routes {}", file.display()), 2);
    assert!(said.contains("routes.toml:3:1: unknown key 'stats' in [[route]]; did you mean 'status'?"), "{said}");
    assert_eq!(said.lines().count(), 1);
}

#[test]
fn a_port_in_use_and_a_log_that_cannot_be_written_are_refused() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let said = refused(&format!("--listen {}", taken.local_addr().unwrap()), 1);
    assert!(said.contains("cannot listen on") && said.contains("choose another port"), "{said}");
    let address = format!("127.0.0.1:{}", crate::shared::server::free_port());
    let said = refused(&format!("--listen {address} --metrics {address}"), 1);
    assert!(said.contains("for two purposes") && said.contains("its own port"), "{said}");
    let said = refused("--listen 127.0.0.1:0 --access-log /no/such/directory/log", 1);
    assert!(said.contains("cannot write the access log '/no/such/directory/log'"), "{said}");
}

//! The NATS server of a fleet: which program it is, and its configuration.

use brunt_fleet::nats::{Access, Key, OLDEST_SERVER, is_recent, write_secret};
use brunt_fleet::words::VERSION;
use brunt_results::Error;
use brunt_tls::Identity;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

const NAME: &str = "nats-server";

/// The program: the one that was named, or found.
///
/// # Errors
/// There is none, or it is too old; says how to get one.
pub(super) fn program(named: Option<&Path>) -> Result<PathBuf, Error> {
    let home = env::var_os("HOME").map(|home| PathBuf::from(home).join("go/bin"));
    let path = env::var_os("PATH").unwrap_or_default();
    let found = || env::split_paths(&path).chain(home).map(|folder| folder.join(NAME)).find(|file| file.is_file());
    let Some(program) = named.map(Path::to_owned).or_else(found) else {
        return Err(Error::Failed(format!("no {NAME} in PATH: {REMEDY}")));
    };
    let shown = program.display();
    let output = Command::new(&program).arg("--version").output();
    let output = output.map_err(|error| Error::Failed(format!("cannot start {shown}: {error}: {REMEDY}")))?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let version = text.rsplit('v').next().unwrap_or_default();
    match is_recent(version) {
        true => Ok(program),
        false => Err(Error::Failed(format!("{shown} is '{text}', and {OLDEST_SERVER} or later is needed: {REMEDY}"))),
    }
}

const REMEDY: &str = "install it from your distribution or from https://nats.io/download, or with Go: go install \
                      github.com/nats-io/nats-server/v2@latest; --server names one that is elsewhere";

/// The files of a fleet.
pub(super) struct Files<'d> {
    pub directory: &'d Path,
    pub listen: SocketAddr,
}

impl Files<'_> {
    pub fn configuration(&self) -> PathBuf {
        self.directory.join("nats.conf")
    }

    pub fn log(&self) -> PathBuf {
        self.directory.join("nats.log")
    }

    /// Writes the configuration of the server, and what operator and agents join with. Keys that are there are kept. Returns the access of
    /// the operator.
    pub fn write(&self, of_operator: &Path, of_agent: &Path) -> Result<Access, Error> {
        fs::create_dir_all(self.directory)?;
        let key = |path: &Path| Access::read(path).map_or_else(|_| Key::new(), |access| Ok(access.key));
        let (operator, agent) = (key(of_operator)?, key(of_agent)?);
        let public = |key: &Key| key.public().map_err(Error::Failed);
        let (operators, agents) = (public(&operator)?, public(&agent)?);
        let certificate = match self.listen.ip().is_loopback() {
            true => None,
            false => Some(self.certificate()?),
        };
        let scheme = if certificate.is_some() { "tls" } else { "nats" };
        let url = format!("{scheme}://{}", self.listen);
        let access = |key| Access {
            url: url.clone(),
            key,
            operators: vec![operators.clone()],
            certificate: certificate.clone(),
        };
        access(agent).write(of_agent)?;
        let access = access(operator);
        access.write(of_operator)?;
        fs::write(self.configuration(), self.text(&operators, &agents, certificate.is_some()))?;
        Ok(access)
    }

    /// The certificate by which machines know the server; made at the first start, and for another address.
    fn certificate(&self) -> io::Result<String> {
        let [certificate, key, of] =
            ["server.pem", "server.key", "server.address"].map(|name| self.directory.join(name));
        let address = self.listen.ip().to_string();
        if fs::read_to_string(&of).is_ok_and(|of| of == address) {
            return fs::read_to_string(&certificate);
        }
        let identity = Identity::self_signed(std::slice::from_ref(&address)).map_err(io::Error::other)?;
        write_secret(&key, &identity.key_pem())?;
        fs::write(&certificate, identity.certificates_pem())?;
        fs::write(&of, address)?;
        Ok(identity.certificates_pem())
    }

    /// Agents hear orders and tell; they give none.
    fn text(&self, operator: &str, agent: &str, has_tls: bool) -> String {
        let (host, port) = (self.listen.ip(), self.listen.port());
        let host = if let IpAddr::V6(host) = host { format!("[{host}]") } else { host.to_string() };
        let tls = match has_tls {
            true => format!(
                "tls {{\n  cert_file: {:?}\n  key_file: {:?}\n  timeout: 5\n}}\n",
                self.directory.join("server.pem"),
                self.directory.join("server.key")
            ),
            false => String::new(),
        };
        format!(
            r#"# Written by brunt fleet up at each start.
listen: "{host}:{port}"
ping_interval: "5s"
write_deadline: "2s"
{tls}authorization {{
  users = [
    {{ nkey: {operator}, permissions: {{
        publish: ["{VERSION}.who", "{VERSION}.stop", "{VERSION}.collect", "{VERSION}.agent.*.order",
          "{VERSION}.agent.*.file"]
        subscribe: ["{VERSION}.about.*", "{VERSION}.run.>", "{VERSION}.stop"] }} }}
    {{ nkey: {agent}, permissions: {{
        publish: ["{VERSION}.who", "{VERSION}.about.*", "{VERSION}.run.>"]
        subscribe: ["{VERSION}.who", "{VERSION}.about.*", "{VERSION}.stop", "{VERSION}.collect",
          "{VERSION}.agent.*.order", "{VERSION}.agent.*.file"] }} }}
  ]
}}
"#
        )
    }
}

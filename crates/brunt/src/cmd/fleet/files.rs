//! The files of a fleet: a key for each operator, agent and launch, and the configuration of the NATS server, which follows from them.
//!
//! Invariants:
//! - A key is that of one holder; the server lets it say and hear what is that holder's.
//! - Keys that are there are kept; what is written again is how the fleet is reached, and the public keys of its operators.

use super::access::{OF_OPERATOR, failed};
use brunt_fleet::nats::{Access, Holder, Key, Rights, write_secret};
use brunt_results::Error;
use brunt_tls::Identity;
use rustix::process::{Pid, Signal, kill_process};
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Ending of files of keys.
const FLEET: &str = "fleet";

/// The files of a fleet.
pub(super) struct Files {
    directory: PathBuf,
    listen: SocketAddr,
}

impl Files {
    /// Those in this directory, of a server that listens there.
    pub fn new(directory: &Path, listen: SocketAddr) -> Self {
        Self { directory: directory.to_owned(), listen }
    }

    /// Those that are in this directory already.
    ///
    /// # Errors
    /// There are none.
    pub fn there(directory: &Path) -> Result<Self, Error> {
        let path = directory.join(OF_OPERATOR);
        let access = Access::read(&path).map_err(failed)?;
        let listen = access.url.split_once("://").and_then(|(_, listen)| listen.parse().ok());
        let listen = listen.ok_or_else(|| {
            let shown = path.display();
            Error::Failed(format!("{shown}: '{}' is no address of brunt fleet up: start that again", access.url))
        })?;
        Ok(Self::new(directory, listen))
    }

    pub fn configuration(&self) -> PathBuf {
        self.directory.join("nats.conf")
    }

    pub fn log(&self) -> PathBuf {
        self.directory.join("nats.log")
    }

    fn pid(&self) -> PathBuf {
        self.directory.join("nats.pid")
    }

    /// The file of a key.
    pub fn of(&self, holder: &Holder) -> PathBuf {
        match holder {
            Holder::Operator => self.directory.join(OF_OPERATOR),
            Holder::Agent(id) => self.directory.join("agents").join(format!("{id}.{FLEET}")),
            Holder::Launch(name) => self.directory.join("launches").join(format!("{name}.{FLEET}")),
        }
    }

    /// All that have a key.
    fn holders(&self) -> Vec<Holder> {
        let names = |folder: &str| {
            let all = fs::read_dir(self.directory.join(folder)).into_iter().flatten().flatten();
            let mut names: Vec<String> = all
                .map(|entry| entry.path())
                .filter(|path| path.extension().is_some_and(|ending| ending == FLEET))
                .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()))
                .collect();
            names.sort_unstable();
            names
        };
        let launches = names("launches").into_iter().map(Holder::Launch);
        [Holder::Operator].into_iter().chain(names("agents").into_iter().map(Holder::Agent)).chain(launches).collect()
    }

    /// Makes keys for these and the operator where there are none, and writes all files again. Returns the access of the operator.
    pub fn write(&self, new: &[Holder]) -> Result<Access, Error> {
        for folder in ["agents", "launches"] {
            fs::create_dir_all(self.directory.join(folder))?;
        }
        let key = |holder: &Holder| Access::read(&self.of(holder)).map_or_else(|_| Key::new(), |access| Ok(access.key));
        let operator = key(&Holder::Operator)?;
        let public = |key: &Key| key.public().map_err(Error::Failed);
        let operators = vec![public(&operator)?];
        let certificate = match self.listen.ip().is_loopback() {
            true => None,
            false => Some(self.certificate()?),
        };
        let scheme = if certificate.is_some() { "tls" } else { "nats" };
        let url = format!("{scheme}://{}", self.listen);
        let access = |holder: &Holder, key| Access {
            url: url.clone(),
            key,
            agent: Some(holder).filter(|holder| **holder != Holder::Operator).map(Holder::to_string),
            operators: operators.clone(),
            certificate: certificate.clone(),
        };
        let of_operator = access(&Holder::Operator, operator.clone());
        of_operator.write(&self.of(&Holder::Operator))?;
        for holder in new {
            access(holder, key(holder)?).write(&self.of(holder))?;
        }
        // With those that another process adds at the same time.
        let mut users = Vec::new();
        for holder in self.holders() {
            let own = access(&holder, key(&holder)?);
            own.write(&self.of(&holder))?;
            users.push(user(&public(&own.key)?, &holder.rights()));
        }
        write_secret(&self.configuration(), &self.text(&users.concat(), certificate.is_some()))?;
        Ok(of_operator)
    }

    /// Takes a key away. Whether there was one.
    pub fn revoke(&self, holder: &Holder) -> Result<bool, Error> {
        match fs::remove_file(self.of(holder)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            removed => removed?,
        }
        self.write(&[]).map(|_| true)
    }

    /// Lets the server read its configuration again. Whether one runs.
    pub fn reload(&self) -> bool {
        let pid = fs::read_to_string(self.pid()).ok().and_then(|pid| pid.trim().parse().ok()).and_then(Pid::from_raw);
        let Some(pid) = pid else { return false };
        // The number may be that of another process by now.
        let words = fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).unwrap_or_default();
        let own = self.configuration();
        let is_it = words.split(|byte| *byte == 0).any(|word| word == own.as_os_str().as_encoded_bytes());
        is_it && kill_process(pid, Signal::HUP).is_ok()
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

    fn text(&self, users: &str, has_tls: bool) -> String {
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
        let pid = self.pid();
        format!(
            r#"# Written by brunt fleet up and brunt fleet key.
listen: "{host}:{port}"
pid_file: {pid:?}
ping_interval: "5s"
write_deadline: "2s"
{tls}authorization {{
  users = [
{users}  ]
}}
"#
        )
    }
}

/// A user of the NATS server.
fn user(key: &str, Rights { publish, subscribe }: &Rights) -> String {
    format!("    {{ nkey: {key}, permissions: {{ publish: {publish:?}, subscribe: {subscribe:?} }} }}\n")
}

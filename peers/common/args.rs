//! The command line that every Rust peer shares, parsed by hand so that no peer pays a dependency for it.
//! Included by path. It must never start work: it returns a checked `Args`, or ends the process
//! (2 after one line on stderr for a bad flag, 0 after `--help`).

use std::net::SocketAddr;

/// What a peer was asked to do.
pub struct Args {
    /// Address to listen on; port 0 lets the kernel choose.
    pub listen: SocketAddr,
    /// Cores to run on, ascending, no duplicates, at least one.
    pub cores: Vec<usize>,
    /// Bytes of a read buffer: longer than a message of `--message`, so that one read takes it and a reader sees that nothing
    /// more has arrived. What it belongs to (a connection, a thread) is the peer's affair.
    pub buffer: usize,
    /// The chosen value of the peer's own flag; empty for a peer that has none.
    #[allow(dead_code, reason = "peers without a flag of their own never read it")]
    pub choice: &'static str,
}

/// What differs between the command lines of two peers.
pub struct Peer {
    /// Name in messages.
    pub name: &'static str,
    /// Default of `--buffer` in bytes, and what such a buffer belongs to.
    pub buffer: (usize, &'static str),
    /// The peer's own flag and its values, the default first; `None` if it has no flag.
    pub flag: Option<(&'static str, &'static [&'static str])>,
}

impl Peer {
    /// Parses the process's arguments.
    pub fn args(&self) -> Args {
        match self.parse(std::env::args().skip(1)) {
            Ok(Some(args)) => args,
            Ok(None) => {
                println!("{}", self.usage());
                std::process::exit(0)
            }
            Err(what) => {
                eprintln!("{}: {what}; see {0} --help", self.name);
                std::process::exit(2)
            }
        }
    }

    fn parse(&self, mut words: impl Iterator<Item = String>) -> Result<Option<Args>, String> {
        let (mut listen, mut cores, mut buffer, mut message) = (None, None, self.buffer.0, 0);
        let mut choice = self.flag.map_or("", |(_, values)| values[0]);
        while let Some(word) = words.next() {
            // Both spellings, `--flag value` and `--flag=value`.
            let (flag, inline) = match word.split_once('=') {
                Some((flag, value)) => (flag, Some(value.to_owned())),
                None => (&*word, None),
            };
            if matches!(flag, "-h" | "--help") {
                return Ok(None);
            }
            let own = self.flag.filter(|(own, _)| *own == flag);
            if own.is_none() && !matches!(flag, "--listen" | "--cores" | "--buffer" | "--message") {
                return Err(format!("unknown argument '{word}'"));
            }
            let value = inline.or_else(|| words.next());
            let value = value.ok_or_else(|| format!("{flag} needs a value"))?;
            match (flag, own) {
                ("--listen", _) => {
                    let address = value.parse();
                    listen = Some(
                        address
                            .map_err(|_| format!("--listen '{value}' is not ADDRESS:PORT such as 127.0.0.1:7101"))?,
                    );
                }
                ("--cores", _) => cores = Some(core_list(&value)?),
                ("--buffer", _) => buffer = bytes(flag, &value)?,
                ("--message", _) => message = bytes(flag, &value)?,
                (_, Some((own, values))) => {
                    let found = values.iter().find(|known| **known == value);
                    choice = found.ok_or_else(|| format!("{own} '{value}' is not one of {}", values.join(", ")))?;
                }
                _ => unreachable!("flags were checked above"),
            }
        }
        Ok(Some(Args {
            listen: listen.ok_or("--listen ADDRESS:PORT is missing")?,
            cores: cores.ok_or("--cores LIST is missing")?,
            buffer: buffer.max((message + 1).next_power_of_two()),
            choice,
        }))
    }

    fn usage(&self) -> String {
        let (size, owner) = self.buffer;
        let mut text = format!(
            "{}: a TCP server that sends back whatever arrives\n\n  \
             --listen ADDRESS:PORT  where to accept connections\n  \
             --cores LIST           cores to run on, such as 1 or 0,2-3\n  \
             --buffer SIZE          read buffer of {owner}, in B or KiB [{size}]\n  \
             --message SIZE         messages to come; smaller buffers are enlarged to hold one",
            self.name
        );
        if let Some((flag, values)) = self.flag {
            text += &format!("\n  {flag} {}  [{}]", values.join("|"), values[0]);
        }
        text
    }
}

/// `1`, `0,2-3`: ascending and without duplicates whatever the order given.
fn core_list(list: &str) -> Result<Vec<usize>, String> {
    let bad = || format!("--cores '{list}' is not a list such as 1 or 0,2-3 (cores 0 to 1023)");
    // 1023 is the last core of the fixed-size affinity mask; the bound also keeps `0-4000000000` from filling memory.
    let number = |text: &str| text.parse().ok().filter(|core| *core < 1024).ok_or_else(bad);
    let mut cores = Vec::new();
    for part in list.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (number(first)?, number(last)?);
        if first > last {
            return Err(bad());
        }
        cores.extend(first..=last);
    }
    cores.sort_unstable();
    cores.dedup();
    Ok(cores)
}

/// The value of a flag: `2048`, `2048B` or `2KiB`, from 1 B to 1 MiB.
fn bytes(flag: &str, size: &str) -> Result<usize, String> {
    let (digits, unit) = match size.strip_suffix("KiB") {
        Some(digits) => (digits, 1024),
        None => (size.strip_suffix('B').unwrap_or(size), 1),
    };
    let count: Option<usize> = digits.parse().ok();
    let count = count.and_then(|count| count.checked_mul(unit));
    count
        .filter(|count| (1..=1 << 20).contains(count))
        .ok_or_else(|| format!("{flag} '{size}' is not a size from 1B to 1024KiB"))
}

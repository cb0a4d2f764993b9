//! What reads messages gets changed ones and random bytes: nothing panics, whoever sends them.
//!
//! Two agents and a coordinator talk as text; some messages are changed on their way, so that those are met in each state. `BRUNT_FUZZ_SECONDS`
//! is for how long the long form goes on.

use super::about::{About, Busy, Who};
use super::asking::Stop;
use super::collect::{Collect, Journaled};
use super::whole::Whole;
use super::{Access, Key, signed};
use crate::SECOND_NS;
use crate::agent::{Agent, Effect, Happening, Output as Done};
use crate::coordinator::{Config, Coordinator, Member, Output, Rival, Verdict};
use crate::words::{
    Assembler, Envelope, File, Notice, Origin, PART_BYTES, Part, Piece, Reply, Table, Wanted, decode, encode, split,
};
use brunt_testkit::{Random, changed};
use serde::de::DeserializeOwned;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Messages of each kind, as they are on the wire.
const SAMPLES: [&str; 6] = [
    include_str!("../../tests/all/golden/orders.jsonl"),
    include_str!("../../tests/all/golden/answers.jsonl"),
    include_str!("../../tests/all/golden/events.jsonl"),
    include_str!("../../tests/all/golden/parts.jsonl"),
    include_str!("../../tests/all/golden/pieces.jsonl"),
    include_str!("../../tests/all/golden/wanted.jsonl"),
];

/// A text as a receiver has it: what is no text is empty.
fn text_of(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

fn read_all(text: &str, access: &Access) {
    fn one<T: DeserializeOwned>(text: &str, access: &Access) {
        let _ = (decode::<T>(text).is_ok(), signed::read::<T>(access, text).is_ok());
    }
    one::<Envelope>(text, access);
    one::<Reply>(text, access);
    one::<Notice>(text, access);
    one::<Who>(text, access);
    one::<Stop>(text, access);
    one::<Collect>(text, access);
    one::<About>(text, access);
    one::<Journaled>(text, access);
    one::<Part>(text, access);
    one::<Piece>(text, access);
    one::<Wanted>(text, access);
    if let Ok(file) = serde_json::from_str::<File>(text) {
        let _ = (file.check(), file.piece(u64::MAX));
    }
    let _ = (Table::decode(text.as_bytes()), Access::of_text(text));
}

/// A conversation, and changed messages.
struct Talk<'a> {
    random: Random,
    access: &'a Access,
    now: i64,
    core: Coordinator,
    agents: Vec<Agent>,
    assembler: Assembler,
    whole: Whole,
    /// Messages that are under way: to the coordinator, or to the agent of this number.
    under_way: VecDeque<(Option<usize>, Vec<u8>)>,
    /// Of a hundred messages so many are changed.
    changes: u64,
    messages: u64,
    /// Whether the run has ended well.
    is_ok: bool,
}

impl<'a> Talk<'a> {
    fn new(seed: u64, access: &'a Access) -> Self {
        let mut random = Random::new(seed);
        let members = ["a", "b-1"].iter().enumerate();
        let members = members.map(|(first, id)| Member { id: (*id).to_owned(), first, end: first + 1 });
        let config = Config {
            owner: "o".to_owned(),
            run: "r".to_owned(),
            epoch: 1,
            members: members.collect(),
            threads: 2,
            targets: vec!["t".to_owned()],
            is_exclusive: random.below(2) == 0,
            load: serde_json::json!({ "rate": 1000 }),
            warmup_ns: 0,
            window_ns: 3 * SECOND_NS,
            ends_by_count: random.below(3) == 0,
            drain_ns: SECOND_NS,
            prepare_ns: 0,
            connect_ns: Config::CONNECT_NS,
            skew_ns: Some(Config::SKEW_NS),
            tolerate: random.below(2) as usize,
            tries: 2,
            seed,
        };
        let agents = config.members.iter().map(|member| Agent::new(member.id.clone(), 7)).collect();
        let (assembler, changes) = (Assembler::new("r", 1, 1 << 20), [0, 1, 4, 25][random.below(4) as usize]);
        let (core, now) = (Coordinator::new(config, 0), 0);
        let (whole, under_way) = (Whole::default(), VecDeque::new());
        Self { random, access, now, core, agents, assembler, whole, under_way, changes, messages: 0, is_ok: false }
    }

    fn send(&mut self, to: Option<usize>, text: String) {
        let mut bytes = text.into_bytes();
        if self.random.below(100) < self.changes {
            bytes = changed(&bytes, &mut self.random);
            read_all(text_of(&bytes), self.access);
        }
        self.under_way.push_back((to, bytes));
    }

    /// Returns how many messages there were, and whether the run has ended well.
    fn run(mut self) -> (u64, bool) {
        let outputs = ["a", "b-1"].iter().flat_map(|id| self.core.found(id, 7, 0)).collect();
        self.on_core(outputs);
        for _ in 0..600 {
            let longest = [1_000_000, 30_000_000, 400_000_000][self.random.below(3) as usize];
            self.now += self.random.below(longest) as i64;
            let outputs = self.core.tick(self.now);
            self.on_core(outputs);
            for agent in 0..self.agents.len() {
                let done = self.agents[agent].tick(self.now);
                self.on_agent(agent, done);
            }
            while let Some((to, bytes)) = self.under_way.pop_front() {
                self.messages += 1;
                self.take(to, &bytes);
            }
            if self.core.due().is_none() {
                break;
            }
        }
        (self.messages, self.is_ok)
    }

    fn take(&mut self, to: Option<usize>, bytes: &[u8]) {
        let (text, now) = (text_of(bytes), self.now);
        if let Some(agent) = to {
            let Ok(envelope) = decode::<Envelope>(text) else { return };
            let done = self.agents[agent].order(&envelope, now, now);
            return self.on_agent(agent, done);
        }
        let mut outputs = Vec::new();
        if let Ok(reply) = decode::<Reply>(text) {
            outputs.extend(self.core.reply(&reply, now));
        }
        if let Ok(notice) = decode::<Notice>(text) {
            outputs.extend(self.core.notice(&notice, now));
        }
        if let Ok(Ok(Some(whole))) = decode::<Part>(text).map(|part| self.assembler.take(part)) {
            let (counts, more) = self.core.second(&whole.agent, whole.incarnation, whole.second, now);
            if counts {
                self.whole.add(&whole.agent, whole.second, whole.table);
            }
            outputs.extend(more);
            self.whole.take(self.core.whole_seconds());
        }
        self.on_core(outputs);
    }

    fn on_core(&mut self, outputs: Vec<Output>) {
        for output in outputs {
            match output {
                Output::Find => (),
                Output::Look { number } => {
                    let text = encode(&about()).unwrap().into_bytes();
                    let text = changed(&text, &mut self.random);
                    let busy = decode::<About>(text_of(&text)).ok().and_then(|about| about.busy);
                    let rivals = busy.map(|busy| {
                        let Busy { owner, run, targets, is_described, left_ns } = busy;
                        Rival { run, owner, targets, is_described, left_ns }
                    });
                    let outputs = self.core.looked(number, rivals.as_slice(), self.now);
                    self.on_core(outputs);
                }
                Output::Order { agent, envelope } => {
                    let agent = self.agents.iter().position(|known| known.id() == agent);
                    self.send(agent, encode(&*envelope).unwrap());
                }
                Output::Outcome(outcome) => {
                    self.is_ok = outcome.verdict == Verdict::Ok;
                    let _ = outcome.verdict.line();
                }
            }
        }
    }

    fn on_agent(&mut self, agent: usize, done: Vec<Done>) {
        for output in done {
            match output {
                Done::Reply(reply) => self.send(None, encode(&*reply).unwrap()),
                Done::Notice(notice) => self.send(None, encode(&*notice).unwrap()),
                Done::Effect { load, effect } => self.load(agent, load, effect),
            }
        }
    }

    /// A load that does at once what it is told.
    fn load(&mut self, agent: usize, load: u64, effect: Effect) {
        let happenings = match effect {
            Effect::Prepare { .. } => vec![Happening::Prepared],
            Effect::Connect => vec![Happening::Connected],
            Effect::Begin { start, .. } => vec![Happening::FirstSend { at: start }],
            Effect::Abandon => vec![Happening::Drained { digest: String::new() }],
            Effect::Release => {
                let seconds = (0..4).map(|second| Happening::Second { second });
                seconds.chain([Happening::Drained { digest: String::new() }]).collect()
            }
            Effect::Send { from } => {
                let table = Table { counters: [("n".to_owned(), 7)].into(), ..Table::default() };
                for second in from..4.max(from) {
                    let (run, id) = ("r".to_owned(), self.agents[agent].id().to_owned());
                    let origin = Origin { run, epoch: 1, agent: id, incarnation: 7, second };
                    for part in split(&origin, &table.encode(), PART_BYTES.min(16)) {
                        self.send(None, encode(&part).unwrap());
                    }
                }
                Vec::new()
            }
            Effect::Lease { .. } | Effect::CloseAt { .. } | Effect::Keep { .. } => Vec::new(),
        };
        for happening in happenings {
            let done = self.agents[agent].happened(load, happening, self.now);
            self.on_agent(agent, done);
        }
    }
}

fn about() -> About {
    let text = r#"{"version":"brunt.1","id":"c","incarnation":1,"host":"h","brunt":"0","program":null,"kernel":"","cores":1,
        "labels":{},"allows":"","state":"running","busy":{"owner":"p","run":"0","targets":["t"],"is_described":true,
        "left_ns":5},"warnings":[],"times":{"received_ns":1,"answered_ns":2}}"#;
    decode(text).unwrap()
}

/// Changed messages and a conversation of this seed. Returns how many messages there were, and whether its run has ended well.
fn fuzz(seed: u64, access: &Access, samples: &[String]) -> (u64, bool) {
    let mut random = Random::new(seed);
    for _ in 0..50 {
        let sample = &samples[random.below(samples.len() as u64) as usize];
        let bytes = changed(sample.as_bytes(), &mut random);
        read_all(text_of(&bytes), access);
        let _ = Table::decode(&bytes);
    }
    let (messages, is_ok) = Talk::new(seed, access).run();
    (50 + messages, is_ok)
}

fn prepare() -> (Access, Vec<String>) {
    let key = Key::new().unwrap();
    let operators = vec![key.public().unwrap()];
    let access = Access { url: String::new(), key, agent: None, operators, certificate: None };
    let mut samples: Vec<String> = SAMPLES.iter().flat_map(|lines| lines.lines()).map(str::to_owned).collect();
    let signed: Vec<String> = samples
        .iter()
        .filter_map(|line| decode::<Envelope>(line).ok())
        .map(|order| signed::sign(&access.key, &order).unwrap())
        .collect();
    samples.extend(signed);
    samples.push(encode(&about()).unwrap());
    samples.push(serde_json::to_string(&access).unwrap());
    (access, samples)
}

#[test]
fn changed_messages_are_read_or_refused() {
    let (access, samples) = prepare();
    let all: Vec<(u64, bool)> = (0..150).map(|seed| fuzz(seed, &access, &samples)).collect();
    let messages: u64 = all.iter().map(|(messages, _)| messages).sum();
    // Conversations come to their end, also some in which messages are changed.
    let well = all.iter().filter(|(_, is_ok)| *is_ok).count();
    assert!(messages > 20_000 && well > 30, "{messages} {well}");
}

#[test]
#[ignore = "takes BRUNT_FUZZ_SECONDS"]
fn changed_messages_are_read_or_refused_for_long() {
    let seconds = brunt_testkit::number("BRUNT_FUZZ_SECONDS").unwrap_or(60);
    let (access, samples) = prepare();
    let (began, mut seed, mut messages) = (Instant::now(), std::process::id().into(), 0u64);
    seed <<= 32u64;
    while began.elapsed() < Duration::from_secs(seconds) {
        let one = std::panic::catch_unwind(|| fuzz(seed, &access, &samples));
        messages += one.unwrap_or_else(|_| panic!("seed {seed}")).0;
        seed += 1;
    }
    println!("{messages} messages in {seconds} s, none of which has made anything panic");
}

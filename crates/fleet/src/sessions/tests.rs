use super::*;
use proptest::prelude::*;

const DAY_S: u64 = 1_700_000_000;

fn ask(session: &str, seq: u64, question: Question) -> Ask {
    Ask { version: Version, agent: "a".to_owned(), incarnation: 7, session: session.to_owned(), seq, question }
}

fn open(at_unix_s: u64) -> Question {
    Question::Open { service: "meter".to_owned(), settings: Value::Null, at_unix_s }
}

fn question(value: u64) -> Question {
    Question::Ask { question: value.into() }
}

fn said(acts: &[Act]) -> Vec<(u64, SessionAnswer)> {
    let said = |act: &Act| match act {
        Act::Say(said) => Some((said.seq, said.answer.clone())),
        _ => None,
    };
    acts.iter().filter_map(said).collect()
}

fn done() -> SessionAnswer {
    SessionAnswer::Done { value: Value::Null }
}

#[test]
fn a_session_is_opened_once_and_questions_reach_its_service_once() {
    let mut sessions = Sessions::new("a".to_owned(), 7);
    let acts = sessions.take(&ask("s", 1, open(DAY_S)), 0, DAY_S + 59);
    assert!(matches!(&acts[..], [Act::Open { session, service, .. }] if session == "s" && service == "meter"));
    // A repetition before the answer, and after it.
    assert_eq!(sessions.take(&ask("s", 1, open(DAY_S)), 0, DAY_S), []);
    assert_eq!(said(&sessions.answered("s", 1, done(), true)), [(1, done())]);
    assert_eq!(said(&sessions.take(&ask("s", 1, open(DAY_S)), 0, DAY_S)), [(1, done())]);

    let second = ask("s", 2, question(5));
    let handed = [Act::Ask { session: "s".to_owned(), seq: 2, question: 5.into() }];
    assert_eq!(sessions.take(&second, 0, DAY_S), handed);
    assert_eq!(sessions.take(&second, 0, DAY_S), []);
    let failed = SessionAnswer::Failed { error: "no".to_owned() };
    assert_eq!(said(&sessions.answered("s", 2, failed.clone(), true)), [(2, failed.clone())]);
    assert_eq!(said(&sessions.take(&second, 0, DAY_S)), [(2, failed)]);
    assert_eq!(sessions.answered("s", 1, done(), true), []);

    let acts = sessions.take(&ask("s", 3, Question::Close {}), 0, DAY_S);
    assert!(matches!(&acts[..], [Act::End { .. }, Act::Say(_)]));
    let unknown = SessionAnswer::Unknown {};
    assert_eq!(said(&sessions.take(&ask("s", 4, question(1)), 0, DAY_S)), [(4, unknown.clone())]);
    // Neither a repetition nor a recorded message opens it again.
    assert_eq!(said(&sessions.take(&ask("s", 1, open(DAY_S)), 0, DAY_S)), [(1, unknown)]);
}

#[test]
fn old_messages_foreign_ones_and_too_many_open_nothing() {
    let mut sessions = Sessions::new("a".to_owned(), 7);
    for (name, at) in [("early", DAY_S - 61), ("late", DAY_S + 61)] {
        let acts = said(&sessions.take(&ask(name, 1, open(at)), 0, DAY_S));
        assert!(matches!(&acts[..], [(1, SessionAnswer::Failed { error })] if error.contains("61 s")), "{acts:?}");
    }
    assert_eq!(sessions.take(&Ask { incarnation: 8, ..ask("s", 1, open(DAY_S)) }, 0, DAY_S), []);
    assert_eq!(sessions.take(&Ask { agent: "b".to_owned(), ..ask("s", 1, open(DAY_S)) }, 0, DAY_S), []);
    for number in 0..MOST {
        assert_eq!(sessions.take(&ask(&number.to_string(), 1, open(DAY_S)), 0, DAY_S).len(), 1);
    }
    let acts = said(&sessions.take(&ask("more", 1, open(DAY_S)), 0, DAY_S));
    assert!(matches!(&acts[..], [(1, SessionAnswer::Failed { error })] if error.contains("64")), "{acts:?}");
    // One that its service refuses is over, and its answer is not repeated as if it were there.
    assert_eq!(sessions.answered("3", 1, SessionAnswer::Failed { error: "no".to_owned() }, false).len(), 1);
    assert_eq!(said(&sessions.take(&ask("3", 2, question(1)), 0, DAY_S)), [(2, SessionAnswer::Unknown {})]);
}

#[test]
fn a_session_without_signs_of_life_ends() {
    let mut sessions = Sessions::new("a".to_owned(), 7);
    sessions.take(&ask("s", 1, open(DAY_S)), 0, DAY_S);
    assert_eq!(sessions.tick(SILENCE_NS - 1), []);
    let alive = ask("s", 1, Question::Alive {});
    assert_eq!(sessions.take(&alive, SECOND_NS, DAY_S), []);
    // A recorded one does not keep the session.
    assert_eq!(sessions.take(&alive, 2 * SECOND_NS, DAY_S), []);
    assert_eq!(sessions.due(), Some(SECOND_NS + SILENCE_NS));
    assert_eq!(sessions.tick(SECOND_NS + SILENCE_NS - 1), []);
    let ended = sessions.tick(SECOND_NS + SILENCE_NS);
    assert!(matches!(&ended[..], [Act::End { session, .. }] if session == "s"));
    assert_eq!((sessions.due(), sessions.newest("s")), (None, None));
    sessions.take(&ask("t", 1, open(DAY_S)), 0, DAY_S);
    assert!(matches!(&sessions.stop()[..], [Act::End { session, .. }] if session == "t"));
    assert_eq!((sessions.due(), sessions.stop()), (None, Vec::new()));
}

proptest! {
    /// Whatever is lost, repeated or reordered: a service sees rising numbers, each once, and after the end nothing; and no number has an
    /// answer but that of its service or of its end.
    #[test]
    fn a_service_sees_each_question_once_in_order(
        messages in prop::collection::vec((0..3u8, 1..6u64, 0..4u8, any::<bool>()), 0..60)
    ) {
        let mut sessions = Sessions::new("a".to_owned(), 7);
        let mut seen: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        let mut ended: Vec<String> = Vec::new();
        let mut answered: Vec<(String, u64)> = Vec::new();
        for (at, (session, seq, kind, answers)) in messages.into_iter().enumerate() {
            let name = session.to_string();
            let question = match kind {
                0 => open(DAY_S),
                1 => Question::Alive {},
                2 if seq == 5 => Question::Close {},
                _ => question(seq),
            };
            for act in sessions.take(&ask(&name, seq, question), at as i64 * SECOND_NS / 10, DAY_S) {
                match act {
                    Act::Open { session, .. } => {
                        prop_assert!(!seen.contains_key(&session), "opened twice");
                        seen.insert(session, vec![seq]);
                    }
                    Act::Ask { session, seq, .. } => {
                        prop_assert!(!ended.contains(&session));
                        let numbers = seen.get_mut(&session).unwrap();
                        prop_assert!(numbers.last().is_some_and(|last| *last < seq));
                        numbers.push(seq);
                    }
                    Act::End { session, .. } => ended.push(session),
                    Act::Say(said) => {
                        prop_assert_eq!(&said.session, &name);
                        let is_answered = answered.contains(&(name.clone(), said.seq)) || ended.contains(&name);
                        prop_assert!(is_answered || said.answer == SessionAnswer::Unknown {}, "{:?}", said);
                    }
                }
            }
            if answers && let Some(newest) = sessions.newest(&name) {
                answered.push((name.clone(), newest));
                sessions.answered(&name, newest, done(), true);
            }
        }
    }
}

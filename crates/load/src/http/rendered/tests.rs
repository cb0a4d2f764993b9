//! Rendered requests, byte for byte, and rejected ones.

use super::sequence::MAX_VARIED_ORDER;
use super::{Pipeline::*, *};

fn template() -> Template {
    Template { method: "GET".to_owned(), fields: Vec::new(), body: None, http10: false }
}

fn targets(weights: &[u32]) -> Vec<RequestTarget> {
    let target = |(number, weight): (usize, &u32)| RequestTarget {
        host: "h:1".to_owned(),
        target: format!("/{}", char::from(b'a' + number as u8)),
        weight: *weight,
        name: number as u16,
        authorization: None,
    };
    weights.iter().enumerate().map(target).collect()
}

fn render(template: &Template, weights: &[u32], pipeline: Pipeline, reuse: Option<u64>) -> Rendered {
    Rendered::render(template, &targets(weights), None, pipeline, reuse).unwrap()
}

/// The batch that begins at each index, as text.
fn batches(rendered: &Rendered, last: bool) -> Vec<String> {
    let text = |index| String::from_utf8(rendered.bytes(rendered.range(index, last)).to_vec()).unwrap();
    (0..rendered.order_len()).map(text).collect()
}

#[test]
fn requests_are_rendered_byte_for_byte() {
    let (get, old) = (template(), Template { http10: true, ..template() });
    let post = Template {
        method: "POST".to_owned(),
        fields: vec![("X-A".to_owned(), "1".to_owned()), ("x-a".to_owned(), "2".to_owned())],
        body: Some(b"hello".to_vec()),
        ..template()
    };
    for (template, reuse, last, expected) in [
        (&get, None, false, "GET /a HTTP/1.1\r\nHost: h:1\r\n\r\n"),
        (&get, None, true, "GET /a HTTP/1.1\r\nHost: h:1\r\n\r\n"),
        (&get, Some(1), true, "GET /a HTTP/1.1\r\nHost: h:1\r\nConnection: close\r\n\r\n"),
        (&old, Some(5), false, "GET /a HTTP/1.0\r\nHost: h:1\r\nConnection: keep-alive\r\n\r\n"),
        (&old, Some(5), true, "GET /a HTTP/1.0\r\nHost: h:1\r\n\r\n"),
        (&post, None, false, "POST /a HTTP/1.1\r\nHost: h:1\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 5\r\n\r\nhello"),
    ] {
        assert_eq!(batches(&render(template, &[1], Batches(1), reuse), last), [expected]);
    }
}

#[test]
fn targets_take_turns_by_weight_and_evenly() {
    let letters = |weights: &[u32]| {
        let order = order(&targets(weights)).unwrap();
        order.iter().map(|target| char::from(b'a' + *target as u8)).collect::<String>()
    };
    assert_eq!(letters(&[1]), "a");
    assert_eq!(letters(&[1, 1, 1]), "abc");
    assert_eq!(letters(&[3, 1]), "aaba");
    assert_eq!(letters(&[30, 10]), "aaba");
    assert_eq!(letters(&[5, 1, 1]), "aabacaa");
    let long = letters(&[700, 299, 1]);
    assert_eq!(["a", "b", "c"].map(|letter| long.matches(letter).count()), [700, 299, 1]);
}

#[test]
fn batches_follow_the_order_from_every_place() {
    let rendered = render(&template(), &[2, 1], Batches(4), Some(8));
    let targets =
        |text: &String| text.split("GET /").skip(1).map(|request| request[..1].to_owned()).collect::<Vec<_>>().concat();
    let order: Vec<String> = batches(&rendered, false).iter().map(targets).collect();
    assert_eq!(order, ["abaa", "baab", "aaba"]);
    for (keeping, closing) in batches(&rendered, false).iter().zip(batches(&rendered, true)) {
        assert_eq!(targets(keeping), targets(&closing));
        assert!(!keeping.contains("close"));
        assert_eq!(closing.matches("close").count(), 1);
        assert!(closing.ends_with("Connection: close\r\n\r\n"), "{closing}");
    }
    assert_eq!(rendered.batch.requests(), 4);
}

#[test]
fn requests_with_times_of_their_own_are_rendered_one_by_one() {
    let [single, plain] = [Single(4), Pipeline::NONE].map(|way| render(&template(), &[2, 1], way, Some(6)));
    assert_eq!(batches(&single, true), batches(&plain, true));
    assert_eq!((single.batch, single.pipeline), (plain.batch, Single(4)));
}

#[test]
fn an_error_names_what_cannot_be_sent_on_one_line() {
    let field = |name: &str, value: &str| Template { fields: vec![(name.to_owned(), value.to_owned())], ..template() };
    let method = |method: &str| Template { method: method.to_owned(), ..template() };
    let path = |path: &str| vec![RequestTarget { target: path.to_owned(), ..targets(&[1]).remove(0) }];
    let large = Template { body: Some(vec![0; 1 << 20]), ..template() };
    let (get, one) = (template(), targets(&[1]));
    for (template, targets, pipeline, reuse, words) in [
        (field("Connection", "close"), one.clone(), Batches(1), None, "--no-keepalive"),
        (field("content-length", "3"), one.clone(), Batches(1), None, "'content-length'"),
        (field("a b", "3"), one.clone(), Batches(1), None, "'a b'"),
        (field("a", "b\r\nc: d"), one.clone(), Batches(1), None, "control character"),
        (get.clone(), path("/a b"), Batches(1), None, "'/a b'"),
        (get.clone(), path("/a\r\nb"), Batches(1), None, "white space"),
        (method("G T"), one.clone(), Batches(1), None, "'G T'"),
        (method("CONNECT"), one.clone(), Batches(1), None, "CONNECT"),
        (get.clone(), one.clone(), Batches(0), None, "--pipeline 0"),
        (get.clone(), one.clone(), Batches(1025), None, "--pipeline 1025"),
        (method("HEAD"), one.clone(), Batches(65), None, "HEAD"),
        (get.clone(), one.clone(), Batches(4), Some(6), "--reuse 6"),
        (get.clone(), one.clone(), Single(0), None, "--pipeline 0"),
        (get.clone(), one.clone(), Single(1025), None, "--pipeline 1025"),
        (method("HEAD"), one.clone(), Single(65), None, "HEAD"),
        (get.clone(), one.clone(), Single(4), Some(3), "--reuse 3"),
        (get.clone(), one.clone(), Batches(1), Some(0), "--reuse 0"),
        (get.clone(), self::targets(&[0]), Batches(1), None, "at least 1"),
        (get.clone(), Vec::new(), Batches(1), None, "no URL"),
        (get.clone(), self::targets(&[10_000, 1]), Batches(1), None, "10001"),
        (large, one.clone(), Batches(512), None, "--pipeline"),
    ] {
        let error = Rendered::render(&template, &targets, None, pipeline, reuse).unwrap_err();
        assert!(error.contains(words) && !error.contains('\n'), "{words}: {error}");
    }
}

#[test]
fn the_longest_batch_is_rendered_alone() {
    let mut targets = targets(&[3, 1]);
    targets[1].target.push_str("/longer");
    for (reuse, last) in [(None, false), (Some(4), true)] {
        let all = Rendered::render(&template(), &targets, None, Batches(2), reuse).unwrap();
        let one = all.longest();
        let longest = batches(&all, false).into_iter().max_by_key(String::len).unwrap();
        assert!(longest.contains("/longer"));
        assert_eq!(batches(&one, false), std::slice::from_ref(&longest));
        assert_eq!((one.longest_bytes(false), all.longest_bytes(false)), (longest.len(), longest.len()));
        assert_eq!(batches(&one, true)[0].contains("Connection: close"), last);
        assert_eq!(one.longest_bytes(true), batches(&one, true)[0].len());
        assert_eq!(one.batch.requests(), 2);
    }
}

#[test]
fn each_round_takes_the_next_variant_of_equal_length() {
    let vary = Some(Vary { variants: 3, seed: 5 });
    let rendered = Rendered::render(&template(), &targets(&[2, 1]), vary, Batches(1), Some(9)).unwrap();
    assert_eq!((rendered.order_len(), rendered.vary), (9, vary));
    let (kept, last) = (batches(&rendered, false), batches(&rendered, true));
    let path = |text: &String| text[5..6].to_owned();
    assert_eq!(kept.iter().map(path).collect::<String>(), "abaabaaba");
    let token = |text: &String| text.split("vary=").nth(1).unwrap()[..16].to_owned();
    let tokens: Vec<String> = kept.iter().map(token).collect();
    assert_eq!((&tokens[0], &tokens[3], &tokens[6]), (&tokens[1], &tokens[4], &tokens[7]));
    assert!(tokens[0] != tokens[3] && tokens[3] != tokens[6] && tokens[0] != tokens[6]);
    for (kept, last) in kept.iter().zip(&last) {
        assert_eq!((kept.matches(&token(kept)).count(), token(kept)), (2, token(last)));
        assert_eq!((kept.len(), last.len()), (kept.len(), kept.len() + "Connection: close\r\n".len()));
    }
    // A batch goes through the variants too.
    let four = Rendered::render(&template(), &targets(&[1]), vary, Batches(4), None).unwrap();
    let batch = &batches(&four, false)[1];
    let order: Vec<&str> = batch.split("GET /a?vary=").skip(1).map(|request| &request[..16]).collect();
    assert_eq!(order, [&tokens[3], &tokens[6], &tokens[0], &tokens[3]]);
    for variants in [0, MAX_VARIED_ORDER as u32 + 1] {
        let error = Rendered::render(&template(), &targets(&[1]), Some(Vary { variants, seed: 1 }), Batches(1), None);
        assert!(error.unwrap_err().contains("--vary"));
    }
}

fn recorded(method: &str, target: &str, body: Option<&str>) -> (Template, RequestTarget) {
    let template = Template { method: method.to_owned(), body: body.map(|text| text.into()), ..template() };
    (template, RequestTarget { target: target.to_owned(), ..targets(&[1]).remove(0) })
}

#[test]
fn requests_of_their_own_keep_their_order_and_heads_are_known_at_each_place() {
    let requests = vec![recorded("GET", "/a", None), recorded("HEAD", "/b", None), recorded("PUT", "/c", Some("hi"))];
    let origin = |number: usize| format!("file:{}: ", number + 1);
    let sequence = |pipeline, reuse, order: &[usize]| {
        let sequence = Sequence { requests: requests.clone(), order: order.to_vec(), replay: false, origin: &origin };
        Rendered::sequence(sequence, None, pipeline, reuse)
    };
    let single = sequence(Batches(1), Some(1), &[0, 1, 2]).unwrap();
    assert_eq!(
        batches(&single, false),
        [
            "GET /a HTTP/1.1\r\nHost: h:1\r\n\r\n",
            "HEAD /b HTTP/1.1\r\nHost: h:1\r\n\r\n",
            "PUT /c HTTP/1.1\r\nHost: h:1\r\nContent-Length: 2\r\n\r\nhi"
        ]
    );
    for (kept, last) in batches(&single, false).iter().zip(batches(&single, true)) {
        assert_eq!(last.replace("Connection: close\r\n", ""), *kept);
    }
    let pipelined = sequence(Batches(2), Some(4), &[0, 1, 2, 1]).unwrap();
    for (at, heads) in [[false, true], [true, false], [false, true], [true, false]].iter().enumerate() {
        let batch = pipelined.batch_at(at);
        assert_eq!((batch.requests(), [batch.is_head(0), batch.is_head(1)]), (2, *heads));
        assert_eq!(batches(&pipelined, true)[at].replace("Connection: close\r\n", ""), batches(&pipelined, false)[at]);
    }
    assert!(sequence(Batches(65), None, &[0, 1, 2]).unwrap_err().contains("HEAD"));
    let wrong = vec![recorded("GET", "/a", None), recorded("GET", "/a b", None)];
    let wrong = Sequence { requests: wrong, order: vec![0, 1], replay: false, origin: &origin };
    let error = Rendered::sequence(wrong, None, Batches(1), None).unwrap_err();
    assert!(error.starts_with("file:2: '/a b'"), "{error}");
}

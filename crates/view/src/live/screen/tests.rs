use super::super::model::{Model, Silence};
use super::*;
use brunt_results::RunResult;
use brunt_results::start::LoadStart;
use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::{Value, json};

fn screen(model: &Model, (width, height): (u16, u16), look: Look) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(frame, model, look)).unwrap();
    text(terminal.backend().buffer())
}

fn seen(model: &Model) -> String {
    screen(model, (80, 24), Look { quit: "quit", ..Look::default() })
}

fn begun() -> Model {
    let mut model = Model::default();
    model.begin(LoadStart {
        url: "http://127.0.0.1:8080/".into(),
        connections: 10,
        rate: Some(2000.0),
        warmup_s: 1.0,
        duration_s: 19.0,
        ..LoadStart::default()
    });
    model
}

/// A second of a load at 2000 requests a second, of which so many are answered.
fn second(at_s: u64, completed: u64) -> Value {
    let slow = if at_s == 7 { 30.0 } else { 1.0 };
    json!({
        "at_s": at_s, "warmup": at_s == 1, "offered": 2000, "completed": completed, "failed": 0, "connections": 10,
        "p50_us": 60.0, "p99_us": 240.0 * slow, "p999_us": 1200.0 * slow, "lag_p99_us": 3.0,
        "generator_cpu_percent": 20.0, "server_cpu_user_percent": 20.0, "server_cpu_system_percent": 60.0,
        "server_rss_bytes": 15 << 20, "server_threads": 1, "host_steal_percent": 0.0,
        "so_far": {
            "response": {"count": (at_s - 1) * completed, "p50_us": 60.0, "p90_us": 90.0, "p99_us": 250.0,
                         "p999_us": 1200.0, "max_us": 36e3},
            "lag_p99_us": 3.0, "waited": 0, "busiest_thread_percent": 20.0,
        },
    })
}

fn take(model: &mut Model, second: &Value) {
    assert!(model.line(second.to_string().as_bytes()));
}

#[test]
fn a_load_that_keeps_its_rate() {
    let mut model = begun();
    (1..=12).for_each(|at| take(&mut model, &second(at, 2000)));
    assert_eq!(seen(&model), include_str!("ok.txt"));
}

#[test]
fn a_load_that_misses_its_rate_and_has_errors() {
    let mut model = begun();
    for at in 1..=12 {
        let mut second = second(at, 1500);
        second["failed"] = json!(3);
        second["so_far"]["errors"] =
            json!({"connect": 0, "timeout": 20, "reset": 13, "protocol": 0, "status": 0, "mismatch": 0});
        take(&mut model, &second);
    }
    assert_eq!(seen(&model), include_str!("errors.txt"));
    // A tall screen has all reasons, and wide ones more columns.
    let tall = screen(&model, (132, 43), Look::default());
    assert!(tall.contains("1500 requests/s were answered of 2000 offered"), "{tall}");
}

#[test]
fn before_the_first_line_and_after_the_last() {
    let mut model = begun();
    let first = seen(&model);
    assert!(first.lines().next().unwrap().ends_with("opening connections"), "{first}");
    assert!(first.contains("verdict so far: none, the window has not begun"), "{first}");
    (1..=4).for_each(|at| take(&mut model, &second(at, 2000)));
    model.silence = Some(Silence { seconds: 7, is_running: Some(false) });
    assert!(seen(&model).contains("no new line for 7 s: ended without a result"), "{}", seen(&model));
    let mut result = RunResult::new("brunt");
    (result.requests.rate, result.load.measured_s, result.interrupted) = (1999.0, 3.0, true);
    model.end(result);
    let last = seen(&model);
    assert!(last.contains("interrupted after 0:04") && last.contains("verdict: ok"), "{last}");
    assert!(last.contains("1999 requests/s answered") && !last.contains("so far"), "{last}");
}

#[test]
fn colours_are_added_to_marks_and_words_alone() {
    let mut model = begun();
    (1..=12).for_each(|at| take(&mut model, &second(at, 1500)));
    let buffer = |colours| {
        let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
        terminal.draw(|frame| draw(frame, &model, Look { colours, ..Look::default() })).unwrap();
        terminal.backend().buffer().clone()
    };
    let (plain, coloured) = (buffer(false), buffer(true));
    assert_eq!(text(&plain), text(&coloured));
    let is_plain =
        |buffer: &Buffer| buffer.content.iter().all(|cell| cell.fg == Color::Reset && cell.bg == Color::Reset);
    assert!(is_plain(&plain) && !is_plain(&coloured));
}

#[test]
fn help_names_the_keys() {
    let help = screen(&begun(), (80, 24), Look { help: true, quit: "quit", ..Look::default() });
    for words in ["q       quit", "s       keep this screen", "?       this help"] {
        assert!(help.contains(words), "{help}");
    }
}

/// Lines of all kinds: whole, cut, of other types, with extreme figures.
fn line() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        Just(json!(null)),
        Just(json!(0)),
        Just(json!(-1)),
        Just(json!(u64::MAX)),
        Just(json!(f64::MAX)),
        Just(json!("x")),
        any::<f64>().prop_map(|value| json!(value)),
        (0_u64..5000).prop_map(|value| json!(value)),
    ];
    let fields = prop::collection::vec((0..20_usize, number), 0..6);
    let at = prop_oneof![(0_u64..100).prop_map(|at| at as f64), any::<f64>()];
    let changed = (at, fields, any::<bool>()).prop_map(|(at, fields, warmup)| {
        let mut line = second(2, 1000);
        (line["at_s"], line["warmup"]) = (json!(at), json!(warmup));
        let keys: Vec<String> = line.as_object().unwrap().keys().cloned().collect();
        for (index, value) in fields {
            match keys.get(index) {
                Some(key) if key != "so_far" => line[key] = value,
                _ if index % 2 == 0 => line["so_far"]["response"]["p99_us"] = value,
                _ => {
                    line["so_far"]["errors"] =
                        json!({"connect": 1, "timeout": value, "reset": 0, "protocol": 0, "status": 0})
                }
            }
        }
        line.to_string()
    });
    let cut = (changed, any::<prop::sample::Index>(), prop::bool::weighted(0.2)).prop_map(|(mut line, at, is_cut)| {
        if is_cut {
            line.truncate(at.index(line.len()));
        }
        line
    });
    prop_oneof![8 => cut, 1 => prop::collection::vec(any::<u8>(), 0..40).prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned())]
}

proptest! {
    #[test]
    fn any_lines_on_a_screen_of_any_size_are_shown(
        lines in prop::collection::vec(line(), 0..40),
        size in (1_u16..140, 1_u16..50),
        has_start in any::<bool>(),
        help in any::<bool>(),
    ) {
        let mut model = if has_start { begun() } else { Model::default() };
        for line in &lines {
            model.line(line.as_bytes());
        }
        screen(&model, size, Look { help, ..Look::default() });
        let page = rows::page(&model);
        prop_assert!(!page.contains("NaN"), "{}", page);
    }
}

//! What is said of each verdict on slices: the comparison as JSON and as text, its sentence, and the same of the comparison of
//! sets of trials that is made of it.

#[path = "../../../slices/tests/all/recipe.rs"]
#[allow(dead_code, reason = "the tests of slices use the rest")]
mod recipe;

use crate::common::golden;
use brunt_lab::compare;
use brunt_lab::slices::text;
use brunt_slices::{Progress, Settings, Slice, sentence};
use recipe::{BASE, Recipe, SETTINGS, Target, compared_with, one};
use std::fmt::Write;

/// Numbers with at most nine characters before their exponent: the last digits are those of the machine's logarithm.
fn short(text: &str) -> String {
    let (mut short, mut length) = (String::new(), 0);
    for c in text.chars() {
        length = if c.is_ascii_digit() || c == '.' { length + 1 } else { 0 };
        short.extend((length <= 9).then_some(c));
    }
    short
}

fn said(name: &str, slices: &[Slice], open_loop: bool, precision: f64) -> String {
    let settings = Settings { precision, ..SETTINGS };
    let found = compared_with(slices.to_vec(), open_loop, settings);
    let trials = compare::of_load(&found);
    let mut said = format!("== {name}\n{}\n", serde_json::to_string(&found).unwrap());
    said += &text::text(&found);
    let _ =
        writeln!(said, "{}\n{}", sentence(&found), text::running(&Progress::of(slices, "base", precision, open_loop)));
    let _ = writeln!(said, "{}", serde_json::to_string(&trials).unwrap());
    said += &compare::text(&trials);
    compare::answers(&trials).iter().for_each(|line| said += &format!("{line}\n"));
    short(&said)
}

#[test]
fn every_verdict() {
    let few = Recipe { rounds: 20, ..Recipe::default() };
    let noisy = Recipe { noise: 0.06, ..few }.slices(&[BASE, one(1.0, 1.0, 1.0)]);
    let changed = |change: fn(&mut Slice)| {
        let mut slices = few.slices(&[BASE, one(1.2, 0.83, 1.0)]);
        slices.iter_mut().filter(|slice| slice.target == "one").for_each(change);
        slices
    };
    let limited = changed(|slice| slice.generator_percent = 98.0);
    let failing = changed(|slice| slice.failed = 1);
    let unmetered = changed(|slice| slice.server_cpu_us = None);
    let starts = Recipe { rounds: 6, starts: 7, ..few }.slices(&[BASE, one(1.007, 0.98, 1.0)]);
    let wide = Recipe { noise: 0.9, ..few }.slices(&[BASE, one(4.0, 0.1, 1.0)]);
    let far = few.slices(&[BASE, one(0.5, 14.0, 1.0)]);
    let two = Target { name: "two", replies: 2100.0, ..BASE };
    let three = few.slices(&[BASE, one(1.2, 0.83, 1.1), two]);
    let all = [
        said("different", &three, false, 0.015),
        said("different, open loop", &three, true, 0.015),
        said("no difference, several starts", &starts, false, 0.015),
        said("cannot tell", &noisy, false, 0.2),
        said("imprecise", &noisy, false, 0.015),
        said("imprecise, wide", &wide, false, 0.015),
        said("far", &far, false, 0.015),
        said("client-limited", &limited, false, 0.015),
        said("errors", &failing, false, 0.015),
        said("without CPU time", &unmetered, false, 0.015),
    ];
    golden("slices.txt", &all.concat());
}

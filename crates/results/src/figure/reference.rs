//! `docs/reference/figures.md`: the table of figures as a page.

use super::{Better, Compared, Figure, Unit, all};

const HEAD: &str = "# Figures

Every figure of a trial, by the name that flags take. This page is generated: `UPDATE_DOCS=1 cargo test -p brunt-results` writes it.

- **bound**: `--fail-if`, `--slo`, `fail_if` of plans and `brunt list --where` take it. Any other percentile of the response times, such
  as `p97.5`, is a bound too.
- **list**: its key in `brunt list --trials --json`. **compare**: `brunt compare` always compares it, or only where a bound is about it
  (*asked*). **export**: `brunt export --figure` takes it.
- **column**: the header of its column in `brunt report --wide`, `report.md` and the page.
- **Prometheus**: its metric in `brunt export --to prometheus`, in base units.

Formulas and intervals are in [statistics](statistics.md), sources and errors in [meter](meter.md). A figure that could not be had is
`null`, with the reason in `env.json`.

| figure | what it is | unit | better | in result.json | bound | list | compare | export | column | Prometheus |
|---|---|---|---|---|---|---|---|---|---|---|
";

/// The page.
pub fn page() -> String {
    all().fold(HEAD.to_owned(), |page, figure| page + &line(figure))
}

fn line(figure: &Figure) -> String {
    let code = |text: &str| if text.is_empty() { String::new() } else { format!("`{text}`") };
    let yes = |is: bool| if is { "yes" } else { "" }.to_owned();
    let names: Vec<String> = [figure.key].iter().chain(figure.aliases).map(|name| code(name)).collect();
    let compared = match figure.compared {
        Compared::Always => "yes",
        Compared::Asked => "asked",
        Compared::Never => "",
    };
    let path = if figure.computed.is_some() { format!("figures.{}", figure.key) } else { figure.path.to_owned() };
    let header = figure.column.as_ref().map_or(String::new(), |column| column.header.join(" ").trim().to_owned());
    let cells = [
        names.join(", "),
        figure.help.to_owned(),
        unit(figure.unit).to_owned(),
        better(figure.better).to_owned(),
        code(&path),
        yes(figure.bound.is_some()),
        code(figure.indexed.as_ref().map_or("", |indexed| indexed.column)),
        compared.to_owned(),
        yes(figure.is_exported),
        header,
        code(figure.prometheus.as_ref().map_or("", |family| family.name)),
    ];
    format!("| {} |\n", cells.join(" | "))
}

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Rate => "requests/s",
        Unit::Us => "us",
        Unit::Percent => "%",
        Unit::CpuPercent => "% of a core",
        Unit::Requests => "requests",
        Unit::Bytes => "bytes",
        Unit::Count => "",
        Unit::Ratio => "ratio",
    }
}

fn better(better: Better) -> &'static str {
    match better {
        Better::Higher => "higher",
        Better::Lower => "lower",
        Better::Neither => "",
    }
}

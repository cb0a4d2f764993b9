//! The sequence of `brunt load`: from the flags to the result on stdout, in files and as an exit status.

use super::progress::{self, Makers};
use super::{Args, Measured, absent, calibration, conclude, metrics, names, observer, once, options, output};
use super::{script, start, words};
use crate::cmd::signals::{self, Repeated, SIGINT, SIGTERM, SIGUSR1};
use crate::cmd::stdout;
use brunt_load::Report;
use brunt_results::{Error, ExitCode, Percentile, Threshold, drift, env::Env, judge, named};
use brunt_view::ui::Served;
use brunt_view::{page, percentiles, short, summary};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

/// Adds to `env` what is known after the load: `absent` has the reasons of the meters.
pub(super) fn complete(env: &mut Env, report: &Report, absent: BTreeMap<String, String>) {
    let result = &report.result;
    env.backend = Some(match &report.fallback {
        Some(why) => format!("{} ({why})", report.backend),
        None => report.backend.to_string(),
    });
    env.absent.extend(absent);
    env.absent.extend(absent::of(result));
    env.steal_percent = result.host.steal_percent;
    if let Some(why) = env.absent.get("host.steal_percent").cloned() {
        env.absent.insert("steal_percent".to_owned(), why);
    }
}

impl Measured {
    /// Calls the script's `done` function, if it has one. Its output follows all other output.
    pub(in crate::cmd) fn call_script_done(&self) -> Result<(), String> {
        let Some(script) = self.script.as_ref().filter(|script| script.has_done()) else { return Ok(()) };
        let response = brunt_results::hlog::distribution(&self.hlog, "response")?;
        let threads = self.result.generator.thread_cpu_percent.len() as u64;
        script::done(script, &self.result, &response, &self.seconds, threads)
    }
}

impl Args {
    pub fn run(&self) -> Result<ExitCode, Error> {
        if self.comparison.compare {
            return self.compare();
        }
        if self.once {
            return once::run(self);
        }
        stdout::check_writable(self.html.as_deref())?;
        let is_page = self.page.ui.is_some() || self.html.is_some();
        let temporary = self.live.temporary(self.out.as_deref(), is_page)?;
        // Pages name the directory.
        let temporary = temporary.as_ref().map(|directory| directory.path().join("load"));
        let out = self.out.as_deref().or(temporary.as_deref());
        let mut output = output::Output::create(out, self.json.as_deref())?;
        let measured = self.measure(&mut output)?;
        let Measured { result, env, hlog, no_server, .. } = &measured;
        let facts =
            summary::Facts { result, env, no_server: no_server.as_deref(), percentiles: &self.spec.percentiles };
        if !output.has_taken_stdout() {
            let mut page = if self.short { short::page(&facts) } else { summary::page(&facts) };
            if self.latency {
                let response = brunt_results::hlog::distribution(hlog, "response").map_err(Error::Failed)?;
                page += &percentiles::page(&response);
            }
            stdout::print(&page)?;
        }
        if let Some(directory) = output.directory() {
            stdout::write_page(self.html.as_deref(), || page::page(directory))?;
        }
        measured.call_script_done().map_err(Error::Failed)?;
        if let Some(lost) = &measured.lost {
            return Err(Error::Failed(format!("{lost}, so the load ended early; the results until then are kept")));
        }
        if let Some(error) = measured.late_error {
            return Err(error.into());
        }
        let names: Vec<String> = result.names.iter().map(|part| part.name.clone()).collect();
        names::check(&self.fail_if.concat(), &names)?;
        let code = self.conclude(&measured);
        let checks = self.checks(result, code);
        self.ci.report("brunt load", result.load.measured_s, &checks, || summary::page(&facts))?;
        self.hold(&measured);
        Ok(code)
    }

    /// With --hold, keeps the page of a load that was not interrupted until Ctrl-C.
    fn hold(&self, measured: &Measured) {
        let Some(served) = measured.served.as_ref().filter(|_| self.page.hold && !measured.result.interrupted) else {
            return;
        };
        let _ = writeln!(io::stderr(), "page: {} until Ctrl-C", served.url());
        while !measured.stop.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// The page of --ui, on no core of the load.
    fn serve(&self, directory: Option<&Path>, options: &brunt_load::Options) -> Result<Option<Served>, Error> {
        let Some((listen, directory)) = self.page.ui.zip(directory) else { return Ok(None) };
        let cores: Vec<usize> = options.threads.iter().copied().flatten().collect();
        let served = Served::of_load(directory, words::check, listen, &cores)?;
        let _ = writeln!(io::stderr(), "page: {}", served.url());
        Ok(Some(served))
    }

    /// A note on each bound that fails a run for a good figure, as one is written that must hold.
    fn turned_bounds(&self) -> impl Iterator<Item = String> {
        let turned = self.fail_if.iter().flatten().filter_map(|bound| Some((bound, bound.turned()?)));
        turned.map(|(bound, other)| {
            format!("--fail-if '{bound}' fails a run with good {0}; '{other}' fails one with bad {0}", bound.figure)
        })
    }

    /// Runs the load and writes the requested files; prints only progress.
    pub(super) fn measure(&self, output: &mut output::Output) -> Result<Measured, Error> {
        let mut env = brunt_meter::environment::collect();
        let stop_on = |signals: &[i32]| signals::flag(signals, Repeated::Kill);
        // What is started for the load ends with an interrupt, also before the load.
        let early = if self.on.is_given() { Some(stop_on(&[SIGINT, SIGTERM])?) } else { None };
        let agents = self.on.choose(&self.spec, &self.server.there, early.as_deref())?;
        let whole = agents.as_ref().map(|agents| agents.whole(self)).transpose()?;
        let spec = whole.as_ref().unwrap_or(&self.spec);
        let (resolved, mut files) = named::noted(|| options::options_of(self, spec, env.cpus_allowed.as_deref()));
        let (mut options, mut notes) = resolved?;
        let stop = early.map_or_else(|| stop_on(&[SIGINT, SIGTERM]), Ok)?;
        self.server.wait(&options, &stop, self.quiet)?;
        let makers = if agents.is_some() { script::Makers::Agents } else { script::Makers::Here };
        let (installed, of_script) = named::noted(|| self.script.install(spec, &mut options, makers));
        let script = installed?;
        files.extend(of_script);
        if agents.is_none() {
            notes.extend(options::too_many_threads(options.threads.len(), env.cpus_allowed.as_deref()));
        }
        notes.extend(self.turned_bounds());
        self.print_notes(&notes);
        let layout = if agents.is_none() { options::layout(self, &options)? } else { Vec::new() };
        let sinks = self.metrics.open(&options, self.quiet)?;
        let served = self.serve(output.directory(), &options)?;
        let ceiling = match &agents {
            None => calibration::Calibration::new(&options, self.calibrate)?,
            Some(agents) => {
                if self.calibrate {
                    agents.check_ceilings(&options, !files.is_empty())?;
                }
                calibration::Calibration::none(observer::ON_AGENTS)
            }
        };
        let page = signals::flag_on_each(SIGUSR1)?;
        let found = self.server.meter(&options.target)?;
        let (no_server, server) = (found.as_ref().err().cloned(), found.ok());
        env.absent.extend(no_server.iter().flat_map(|why| brunt_meter::server::all_absent(why)));
        output.write_env(&env)?;
        let (series, counts) = (output.series()?, self.counting.create()?);
        let start = start::start(&options, &env, server.as_ref(), no_server.as_deref());
        // Held until the result is written.
        let _lock = output.announce(&start)?;

        let view = self.live.view(output.directory(), &stop, &page);
        let makers = agents.as_ref().map_or(Makers::Processes(layout.len()), |agents| Makers::Agents(agents.count()));
        let progress = progress::begin(&options, makers, self.quiet || view.is_some());
        let pages = observer::Pages::new(if view.is_some() { Arc::default() } else { page }, start);
        let mut observer =
            observer::LoadObserver::new(server, series, counts, sinks, Arc::clone(&stop), progress, pages);
        let makers = agents.as_ref().map_or(Vec::new(), |agents| agents.ids());
        observer.probe(self.server.there.probe(
            &self.spec,
            &options,
            !files.is_empty() || script.is_some(),
            &makers,
        )?);
        let ran = match (&agents, layout.len()) {
            (Some(agents), _) => {
                let script = (&self.script, script.as_ref());
                agents
                    .run(&options, script, files, output.directory(), &stop, &mut observer)
                    .map(|(report, made)| (report, Some(made)))
            }
            (None, 1) => {
                brunt_load::run(&options, &mut observer).map(|report| (report, None)).map_err(options::error_of)
            }
            (None, _) => brunt_load::processes::run(spec, &options, &layout, &mut observer)
                .map(|report| (report, None))
                .map_err(options::error_of),
        };
        drop(view);
        let (mut report, made) = ran?;
        let server_exit = observer.server_exit().filter(|_| report.result.failures() > 0);
        self.print_notes(observer.lost_counts().as_slice());
        let (neighbours, sinks) = (observer.neighbours(), observer.take_sinks());
        let probed = observer.probed();
        let (absent, series_error) = observer.end(&mut report.result);
        complete(&mut env, &report, absent);
        let mut result = report.result;
        let not_calibrated = ceiling.fill_in(&options, &mut result, &mut env);
        let server_exited = server_exit.is_some();
        // A rate or a number of connections that changes is no drift.
        let drift = drift::check(&report.seconds).filter(|_| !options.is_changing());
        result.verdict = conclude::verdict(&result, env.steal_percent, drift, server_exit, neighbours);
        if let Some((agents, made)) = agents.as_ref().zip(made.as_ref()) {
            result.fleet = Some(agents.told(made, &options, &result));
            result.interrupted |= made.is_interrupted();
            if self.calibrate && !result.interrupted {
                let absent = agents.ceilings(&options, &mut result);
                self.print_notes(&absent.iter().map(|(what, why)| format!("no {what}: {why}")).collect::<Vec<_>>());
                env.absent.extend(absent);
            }
            made.issue().iter().for_each(|issue| result.verdict.add(issue));
            judge::agents(&result).iter().for_each(|issue| result.verdict.add(issue));
        }
        match probed {
            Some(Ok(probe)) => result.probe = Some(probe),
            Some(Err(why)) => self.print_notes(&[why]),
            None => (),
        }
        self.print_notes(&conclude::on_number(&result));
        // An agent that meters it may be lost on the way.
        let no_server = no_server.or_else(|| {
            let why = || env.absent.get("server.cpu_user_percent").cloned();
            result.server.pid.is_none().then(why).flatten()
        });

        output.write(&env, &report.hlog, &result)?;
        self.print_notes(sinks.end(metrics::LAST).as_slice());
        Ok(Measured {
            result,
            env,
            hlog: report.hlog,
            seconds: report.seconds,
            no_server,
            script,
            late_error: series_error.or(not_calibrated),
            lost: report.lost,
            server_exited,
            served,
            stop,
        })
    }

    pub(super) fn print_notes(&self, notes: &[impl Display]) {
        for note in notes.iter().filter(|_| !self.quiet) {
            let _ = writeln!(io::stderr(), "note: {note}");
        }
    }

    /// Those to print, and those with a bound.
    pub(super) fn stored_percentiles(&self) -> Vec<Percentile> {
        let bounded = self.fail_if.iter().flatten().filter_map(Threshold::percentile);
        self.spec.percentiles.iter().copied().chain(bounded).collect()
    }
}

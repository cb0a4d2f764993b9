//! `brunt fleet launch`: prints what starts agents on a cluster, to be read, changed and submitted by its user. It starts nothing.

use super::allowed::Targets;
use crate::cmd::stdout;
use brunt_fleet::nats::is_id;
use brunt_results::{Error, ExitCode, Span};
use std::time::Duration;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  brunt fleet key 'brunt-agent-*'
  kubectl create secret generic brunt-agent --from-file=agent.fleet=$HOME/.local/state/brunt/fleet/launches/brunt-agent.fleet
  brunt fleet launch kubernetes --agents 4 --image registry.example/brunt:1 --allow 10.0.0.0/8 | kubectl apply -f -
  brunt fleet launch slurm --agents 4 --fleet brunt-agent.fleet --allow 10.0.0.0/8 > agents.sh && sbatch agents.sh

The agents of a launch share a file, and so a key, which is good for their names alone.

Exit status: 0 printed, 2 wrong usage.")]
pub struct Args {
    #[command(subcommand)]
    on: On,
}

#[derive(Debug, clap::Subcommand)]
enum On {
    /// An Indexed Job, an agent on each node, with the key in the secret of the job's name
    Kubernetes(Kubernetes),
    /// A batch script, an agent on each node, with the key in a file that all nodes see
    Slurm(Slurm),
}

/// What both have.
#[derive(Debug, clap::Args)]
struct Agents {
    /// Number of agents
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    agents: u32,
    /// What they may load, as 10.0.0.0/8:80; may be repeated
    #[arg(long, value_name = "NETWORK[:PORTS]")]
    allow: Vec<Targets>,
    /// They end after this time
    #[arg(long, value_name = "TIME", default_value = "1h")]
    time: Span,
    /// Name of the job, and the first part of the agents' names
    #[arg(long, value_name = "NAME", default_value = "brunt-agent", value_parser = name)]
    name: String,
    /// Cores of each
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    cores: u32,
}

#[derive(Debug, clap::Args)]
struct Kubernetes {
    #[command(flatten)]
    agents: Agents,
    /// Container image whose entry point is brunt
    #[arg(long, value_name = "IMAGE", value_parser = word)]
    image: String,
}

#[derive(Debug, clap::Args)]
struct Slurm {
    #[command(flatten)]
    agents: Agents,
    /// The file of brunt fleet key 'NAME-*', as the nodes see it
    #[arg(long, value_name = "FILE", default_value = "brunt-agent.fleet", value_parser = word)]
    fleet: String,
    /// The brunt program, as the nodes see it
    #[arg(long, value_name = "FILE", default_value = "brunt", value_parser = word)]
    program: String,
}

/// The group of the key's file in a container: the image of packaging/ runs as this user and is no owner of a secret's files.
const GROUP: u32 = 65535;

/// A name of Kubernetes objects: a DNS label.
fn name(text: &str) -> Result<String, String> {
    let is_dns = text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    match is_dns && is_id(text) && text.len() <= 50 && !text.starts_with('-') && !text.ends_with('-') {
        true => Ok(text.to_owned()),
        false => Err("a name has 1 to 50 small letters, digits and -, and - only within".to_owned()),
    }
}

/// What stands in a script or a manifest as it is.
fn word(text: &str) -> Result<String, String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:@+".contains(c);
    match !text.is_empty() && !text.starts_with('-') && text.chars().all(is_plain) {
        true => Ok(text.to_owned()),
        false => Err("only letters, digits and - _ . / : @ + may be in it".to_owned()),
    }
}

impl Args {
    pub fn run(&self) -> Result<ExitCode, Error> {
        let text = match &self.on {
            On::Kubernetes(kubernetes) => kubernetes.manifest(),
            On::Slurm(slurm) => slurm.script(),
        };
        stdout::print(&text)?;
        Ok(ExitCode::Good)
    }
}

impl Kubernetes {
    fn manifest(&self) -> String {
        let Agents { agents, name, cores, .. } = &self.agents;
        let allow: String = self
            .agents
            .allow
            .iter()
            .map(|allow| format!("            - \"--allow\"\n            - \"{allow}\"\n"))
            .collect();
        let image = &self.image;
        let seconds = self.agents.seconds();
        // A pod that is replaced would be another agent of the same name: none is.
        format!(
            r#"# {agents} agents. Their key comes first:
#   brunt fleet key '{name}-*'
#   kubectl create secret generic {name} --from-file=agent.fleet={name}.fleet
apiVersion: batch/v1
kind: Job
metadata:
  name: {name}
spec:
  completionMode: Indexed
  completions: {agents}
  parallelism: {agents}
  backoffLimit: 0
  podReplacementPolicy: Failed
  activeDeadlineSeconds: {seconds}
  ttlSecondsAfterFinished: 3600
  template:
    metadata:
      labels:
        app: {name}
    spec:
      restartPolicy: Never
      terminationGracePeriodSeconds: 10
      automountServiceAccountToken: false
      securityContext:
        fsGroup: {GROUP}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels:
              app: {name}
      containers:
        - name: agent
          image: {image}
          env:
            - name: INDEX
              valueFrom:
                fieldRef:
                  fieldPath: metadata.annotations['batch.kubernetes.io/job-completion-index']
          args:
            - "agent"
            - "--fleet"
            - "/fleet/agent.fleet"
            - "--id"
            - "{name}-$(INDEX)"
{allow}          resources:
            requests:
              cpu: "{cores}"
            limits:
              cpu: "{cores}"
          volumeMounts:
            - name: fleet
              mountPath: /fleet
              readOnly: true
      volumes:
        - name: fleet
          secret:
            secretName: {name}
            defaultMode: 256
"#
        )
    }
}

impl Slurm {
    fn script(&self) -> String {
        let Agents { agents, name, cores, .. } = &self.agents;
        let allow: String = self.agents.allow.iter().map(|allow| format!(" --allow '{allow}'")).collect();
        let (program, fleet) = (&self.program, &self.fleet);
        let minutes = self.agents.seconds().div_ceil(60);
        format!(
            r#"#!/bin/sh
#SBATCH --job-name={name}
#SBATCH --nodes={agents}
#SBATCH --ntasks={agents}
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task={cores}
#SBATCH --exclusive
#SBATCH --time={minutes}
# {agents} agents, one on each node, with the key of: brunt fleet key '{name}-*'. A signal ends them with their loads. The shell of
# each expands its rank.
# shellcheck disable=SC2016
exec srun --kill-on-bad-exit=0 sh -c 'exec {program} agent --fleet {fleet} --id "{name}-$SLURM_PROCID" "$@"' agent{allow}
"#
        )
    }
}

impl Agents {
    fn seconds(&self) -> u64 {
        self.time.0.max(Duration::from_secs(1)).as_secs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agents() -> Agents {
        let (time, name) = (Span(Duration::from_secs(5400)), "brunt-agent".to_owned());
        Agents { agents: 3, allow: vec!["10.0.0.0/8:80".parse().unwrap()], time, name, cores: 2 }
    }

    #[test]
    fn a_script_names_each_agent_by_its_rank() {
        let slurm = Slurm { agents: agents(), fleet: "/home/me/agent.fleet".to_owned(), program: "brunt".to_owned() };
        let script = slurm.script();
        for line in ["#SBATCH --nodes=3", "#SBATCH --time=90", "#SBATCH --cpus-per-task=2"] {
            assert!(script.lines().any(|other| other == line), "{line}: {script}");
        }
        assert!(
            script.contains("--id \"brunt-agent-$SLURM_PROCID\"") && script.contains("--allow '10.0.0.0/8:80'"),
            "{script}"
        );
    }

    #[test]
    fn what_would_be_read_otherwise_is_refused() {
        assert!(["a b", "$(x)", "-x", "", "a'b", "a\nb"].iter().all(|text| word(text).is_err()));
        assert!(["Web", "-a", "a-", "", "a_b"].iter().all(|text| name(text).is_err()));
        assert_eq!(
            word("registry.example:5000/brunt@sha256:0f"),
            Ok("registry.example:5000/brunt@sha256:0f".to_owned())
        );
    }
}

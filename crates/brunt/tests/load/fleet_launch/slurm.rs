//! A Slurm cluster on this machine: a controller and two nodes, without authentication and accounts, ended with the test.

use crate::shared::consumers::runs;
use brunt_testkit::{Home, Running, free_port, home, until};
use std::process::{Command, Stdio};
use std::{env, fs};

/// Whether its programs are there: a test that needs them ends without, unless `BRUNT_SLURM=must`.
pub fn is_here() -> bool {
    let found = |program: &&str| runs("sh", &["-c", &format!("command -v {program}")]);
    let missing = ["slurmctld", "slurmd", "sbatch", "scancel", "sinfo"].into_iter().find(|program| !found(program));
    assert!(missing.is_none() || env::var("BRUNT_SLURM").as_deref() != Ok("must"), "{missing:?} is missing");
    if let Some(missing) = missing {
        println!("skipped: {missing} is missing");
    }
    missing.is_none()
}

pub struct Cluster {
    home: Home,
    _programs: Vec<Running>,
}

impl Cluster {
    /// With nodes n1 and n2.
    #[track_caller]
    pub fn start() -> Self {
        let home = home();
        let (path, ports) = (home.path().display().to_string(), [free_port(), free_port(), free_port()]);
        let machine = rustix::system::uname().nodename().to_string_lossy().into_owned();
        // A controller knows itself by the name without a domain.
        let machine = machine.split('.').next().unwrap();
        let user = String::from_utf8(Command::new("id").arg("-un").output().unwrap().stdout).unwrap();
        let user = user.trim();
        let text = format!(
            "ClusterName=one\n\
             SlurmctldHost={machine}(127.0.0.1)\n\
             SlurmctldPort={}\n\
             SlurmUser={user}\n\
             SlurmdUser={user}\n\
             AuthType=auth/none\n\
             CredType=cred/none\n\
             SlurmctldPidFile={path}/controller.pid\n\
             SlurmdPidFile={path}/%n.pid\n\
             SlurmdSpoolDir={path}/%n\n\
             StateSaveLocation={path}/state\n\
             SlurmctldLogFile={path}/controller.log\n\
             SlurmdLogFile={path}/%n.log\n\
             ProctrackType=proctrack/linuxproc\n\
             TaskPlugin=task/none\n\
             SelectType=select/linear\n\
             MpiDefault=none\n\
             JobAcctGatherType=jobacct_gather/none\n\
             AccountingStorageType=accounting_storage/none\n\
             NodeName=n1,n2 NodeHostname={machine} NodeAddr=127.0.0.1 Port={},{} CPUs=1 State=UNKNOWN\n\
             PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP\n",
            ports[0], ports[1], ports[2]
        );
        fs::write(home.join("slurm.conf"), text).unwrap();
        fs::create_dir(home.join("state")).unwrap();
        let start = |program: &str, flags: &[&str]| {
            let mut command = Command::new(program);
            command.args(["-D", "-f"]).arg(home.join("slurm.conf")).args(flags);
            Running::start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()))
        };
        let programs =
            vec![start("slurmctld", &["-c"]), start("slurmd", &["-N", "n1"]), start("slurmd", &["-N", "n2"])];
        let cluster = Self { home, _programs: programs };
        until("both nodes are idle", || {
            cluster.told("sinfo", &["-h", "-t", "idle", "-o", "%D"]).is_some_and(|nodes| nodes.trim() == "2")
        });
        cluster
    }

    /// A command of a user of the cluster, in its folder.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("SLURM_CONF", self.home.join("slurm.conf")).current_dir(self.home.path()).stdin(Stdio::null());
        command
    }

    /// `None` if it fails, as while the controller starts.
    fn told(&self, program: &str, args: &[&str]) -> Option<String> {
        let output = self.command(program).args(args).output().unwrap();
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

/// Steps are in sessions of their own: they end by the controller, before it does.
impl Drop for Cluster {
    fn drop(&mut self) {
        self.told("scancel", &["--state=PENDING,RUNNING", "-p", "all"]);
        until("no job is left", || self.told("squeue", &["-h"]).is_none_or(|jobs| jobs.trim().is_empty()));
    }
}

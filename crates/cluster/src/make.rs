//! Making a cluster that isn't there yet: `initdb`, or a copy of a template.

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::account::Account;
use crate::binaries::Binaries;
use crate::error::StartError;
use crate::home::{Home, file};
use crate::spec::{Auth, Durability, Spec};

/// Tried in order: the first locale that the system has. Both sort by code point.
const LOCALES: [&str; 2] = ["C.UTF-8", "C"];
/// Written last into a data folder, so that one half made is made anew.
const MADE: &str = "kintsugi.made";
/// What PostgreSQL reads our settings from.
pub(crate) const CONF: &str = "kintsugi.conf";

/// The programs and the account that make and run clusters.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Maker<'a> {
    pub(crate) binaries: &'a Binaries,
    pub(crate) account: &'a Account,
}

impl Maker<'_> {
    /// Makes the data folder, unless it is made already.
    pub(crate) async fn data(&self, home: &Home, spec: &Spec) -> Result<(), StartError> {
        let data = home.data();
        if data.join(MADE).is_file() {
            return self.check_major(home);
        }
        if data.exists() {
            fs::remove_dir_all(&data).map_err(|e| file("remove", &data)(e))?;
        }
        match (&spec.template, &spec.auth) {
            (Some(template), Auth::Trust) => self.copy(home, spec, template).await?,
            _ => self.initdb(home, spec).await?,
        }
        let made = data.join(MADE);
        fs::write(&made, format!("{}\n", self.binaries.version()))
            .map_err(|e| file("write", &made)(e))
    }

    /// Makes the database that the spec names, unless it was made before. Single-user mode needs
    /// no client and no running server.
    pub(crate) async fn database(&self, home: &Home, spec: &Spec) -> Result<(), StartError> {
        let Some(name) = spec.database.as_deref().filter(|name| *name != "postgres") else {
            return Ok(());
        };
        let list = home.folder().join("databases");
        let known = fs::read_to_string(&list).unwrap_or_default();
        if known.lines().any(|line| line == name) {
            return Ok(());
        }
        let sql = format!("CREATE DATABASE \"{}\";\n", name.replace('"', "\"\""));
        let data = home.data();
        let args = ["--single", "-E", "-j", "-D"].map(OsStr::new);
        let mut command = self.command("postgres", home.folder());
        command
            .args(args)
            .arg(&data)
            .arg("postgres")
            .env("PGOPTIONS", "");
        let output = self.run(command, &format!("{sql}\n")).await?;
        // An error in single-user mode doesn't change the exit status.
        let failed = output
            .text
            .lines()
            .any(|l| l.contains("ERROR:") || l.contains("FATAL:"));
        let there = output.text.contains("already exists");
        if !output.success || failed && !there {
            return Err(make_failed("postgres --single", home, output.text));
        }
        fs::write(&list, format!("{known}{name}\n")).map_err(|e| file("write", &list)(e))
    }

    /// A command of PostgreSQL's, run as the server's account, without the user's PG* settings.
    pub(crate) fn command(&self, program: &str, folder: &Path) -> Command {
        let mut command = Command::new(self.binaries.program(program));
        let inherited: Vec<_> = std::env::vars_os()
            .map(|(name, _)| name)
            .filter(|name| name.to_str().is_some_and(|name| name.starts_with("PG")))
            .collect();
        for name in inherited {
            command.env_remove(name);
        }
        command.current_dir(folder).process_group(0);
        self.account.apply(&mut command);
        command
    }

    async fn initdb(&self, home: &Home, spec: &Spec) -> Result<(), StartError> {
        let mut last = String::new();
        for locale in LOCALES {
            let output = self.initdb_with(home, spec, locale).await?;
            if output.success {
                return include_conf(&home.data());
            }
            let unknown_locale = output.text.contains("locale");
            last = output.text;
            if !unknown_locale {
                break;
            }
        }
        Err(make_failed("initdb", home, last))
    }

    async fn initdb_with(
        &self,
        home: &Home,
        spec: &Spec,
        locale: &str,
    ) -> Result<Output, StartError> {
        let mut command = self.command("initdb", home.folder());
        command
            .arg("-D")
            .arg(home.data())
            .args(["-U", "postgres", "-E", "UTF8"]);
        command.args(["--no-instructions", "--locale", locale]);
        if spec.durability == Durability::Fast {
            command.arg("--no-sync");
        }
        let password_file = home.folder().join("password");
        match &spec.auth {
            Auth::Trust => command.args(["-A", "trust"]),
            Auth::Scram { password } => {
                self.write_private(&password_file, password)?;
                command
                    .args(["-A", "scram-sha-256", "--pwfile"])
                    .arg(&password_file)
            }
        };
        let output = self.run(command, "").await;
        if password_file.exists() {
            fs::remove_file(&password_file).map_err(|e| file("remove", &password_file)(e))?;
        }
        output
    }

    /// Writes a file that only the server's account can read.
    fn write_private(&self, path: &Path, text: &str) -> Result<(), StartError> {
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        options
            .open(path)
            .and_then(|mut open| open.write_all(format!("{text}\n").as_bytes()))
            .map_err(|e| file("write", path)(e))?;
        self.account.own(path)
    }

    async fn copy(&self, home: &Home, spec: &Spec, template: &Path) -> Result<(), StartError> {
        let source = self.template(spec, template).await?;
        // The source holds the mark of a finished folder, so a half copy must not have the name.
        let part = home.folder().join("data.part");
        if part.exists() {
            fs::remove_dir_all(&part).map_err(|e| file("remove", &part)(e))?;
        }
        let mut command = Command::new("cp");
        command.arg("-R").arg(&source).arg(&part).current_dir("/");
        self.account.apply(&mut command);
        let output = self.run(command, "").await?;
        if !output.success {
            return Err(make_failed("cp", home, output.text));
        }
        set_private(&part).map_err(|e| file("close to others", &part)(e))?;
        fs::rename(&part, home.data()).map_err(|e| file("rename", &part)(e))
    }

    /// The template's data folder, made if it is missing. It has the version in its name, and the
    /// lock of its home makes the others wait for whoever makes it.
    async fn template(&self, spec: &Spec, template: &Path) -> Result<PathBuf, StartError> {
        let folder = template.join(format!("pg{}", self.binaries.major()));
        let data = folder.join("data");
        let rounds = 600;
        for _ in 0..rounds {
            if data.join(MADE).is_file() {
                return Ok(data);
            }
            match Home::take(&folder, self.account) {
                Ok(home) => {
                    let plain = Spec {
                        template: None,
                        ..spec.clone()
                    };
                    Box::pin(self.data(&home, &plain)).await?;
                }
                Err(StartError::InUse { .. }) => {
                    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
                }
                Err(error) => return Err(error),
            }
        }
        Err(StartError::InUse { folder })
    }

    fn check_major(&self, home: &Home) -> Result<(), StartError> {
        let path = home.data().join("PG_VERSION");
        let found = fs::read_to_string(&path).map_err(|e| file("read", &path)(e))?;
        let found = found.trim().to_owned();
        let wanted = self.binaries.major();
        if found == wanted.to_string() {
            return Ok(());
        }
        Err(StartError::OtherMajor {
            folder: home.folder().to_owned(),
            found,
            wanted,
        })
    }

    async fn run(&self, mut command: Command, input: &str) -> Result<Output, StartError> {
        let program = PathBuf::from(command.as_std().get_program());
        let failed = |source| StartError::Run {
            program: program.clone(),
            source,
        };
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command.kill_on_drop(true);
        let mut child = command.spawn().map_err(failed)?;
        if let Some(mut stdin) = child.stdin.take() {
            // A program that doesn't read its input is not an error.
            if let Err(error) = stdin.write_all(input.as_bytes()).await {
                tracing::debug!(%error, "input not taken");
            }
        }
        let output = child.wait_with_output().await.map_err(failed)?;
        let text = [output.stdout, output.stderr].concat();
        Ok(Output {
            success: output.status.success(),
            text: String::from_utf8_lossy(&text).trim().to_owned(),
        })
    }
}

/// What a program left behind.
struct Output {
    success: bool,
    text: String,
}

fn make_failed(program: &'static str, home: &Home, output: String) -> StartError {
    StartError::Make {
        program,
        folder: home.folder().to_owned(),
        output,
    }
}

/// Our settings are read last and so win.
fn include_conf(data: &Path) -> Result<(), StartError> {
    let path = data.join("postgresql.conf");
    let mut text = fs::read_to_string(&path).map_err(|e| file("read", &path)(e))?;
    text.push_str("\ninclude_if_exists = '");
    text.push_str(CONF);
    text.push_str("'\n");
    fs::write(&path, text).map_err(|e| file("write", &path)(e))
}

fn set_private(path: &Path) -> std::io::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(0o700))
}

//! Asks SQLite whether the database files of a data directory are sound.
//!
//! `cargo run -p greenroom-store --example integrity -- <data directory>` runs
//! `PRAGMA integrity_check` on every `*.db` file below the folder and prints one
//! line for each. The exit code is 1 if a file is unsound or cannot be opened.
//! Opening a file replays its write-ahead log, as any first use would: on a
//! directory to be kept untouched, run it on a copy.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line tool speaks on both"
)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use rusqlite::Connection;

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1) else {
        eprintln!("usage: integrity <data directory>");
        return ExitCode::from(2);
    };
    let mut files = Vec::new();
    if let Err(error) = collect(Path::new(&folder), &mut files) {
        eprintln!("{}: {error}", Path::new(&folder).display());
        return ExitCode::FAILURE;
    }
    files.sort();
    let unsound = files.iter().filter(|path| !report(path)).count();
    if unsound == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Adds every database file below `folder` to `files`.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "db") {
            files.push(path);
        }
    }
    Ok(())
}

/// Prints what SQLite says of one file; true if it is sound.
fn report(path: &Path) -> bool {
    match check(path) {
        Ok(verdict) if verdict == ["ok"] => {
            println!("ok {}", path.display());
            true
        }
        Ok(findings) => {
            eprintln!("{}: {}", path.display(), findings.join("; "));
            false
        }
        Err(error) => {
            eprintln!("{}: {error}", path.display());
            false
        }
    }
}

fn check(path: &Path) -> rusqlite::Result<Vec<String>> {
    let database = Connection::open(path)?;
    let mut statement = database.prepare("PRAGMA integrity_check")?;
    let rows = statement.query_map([], |row| row.get(0))?;
    rows.collect()
}

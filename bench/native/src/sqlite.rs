//! SQLite by itself, with the settings of an actor's database.

use std::path::Path;
use std::time::Instant;

use napi::{Error, Result};
use napi_derive::napi;
use rusqlite::Connection;

const SCHEMA: &str = "CREATE TABLE state (id INTEGER PRIMARY KEY, body BLOB NOT NULL);
    INSERT INTO state VALUES (1, x'a165636f756e7400');";

fn open(path: &Path) -> rusqlite::Result<Connection> {
    let database = Connection::open(path)?;
    database.pragma_update(None, "journal_mode", "WAL")?;
    database.pragma_update(None, "synchronous", "FULL")?;
    Ok(database)
}

fn failed(error: rusqlite::Error) -> Error {
    Error::from_reason(error.to_string())
}

/// Creates `count` databases with one table and one row, one after the other,
/// and gives the seconds it took.
#[napi]
pub fn create_databases(folder: String, count: u32) -> Result<f64> {
    let since = Instant::now();
    for number in 0..count {
        let path = Path::new(&folder).join(format!("{number}.db"));
        let database = open(&path).map_err(failed)?;
        database
            .execute_batch(&format!("BEGIN; {SCHEMA} COMMIT;"))
            .map_err(failed)?;
    }
    Ok(since.elapsed().as_secs_f64())
}

/// Opens a database of `create_databases`, reads its row and closes it; gives
/// the milliseconds it took.
#[napi]
pub fn open_and_read(path: String) -> Result<f64> {
    let since = Instant::now();
    let database = open(Path::new(&path)).map_err(failed)?;
    database
        .query_row("SELECT body FROM state WHERE id = 1", [], |row| {
            row.get::<_, Vec<u8>>(0)
        })
        .map_err(failed)?;
    drop(database);
    Ok(since.elapsed().as_secs_f64() * 1000.0)
}

/// Commits one changed row `count` times and gives the seconds it took.
#[napi]
pub fn commit_rows(path: String, count: u32) -> Result<f64> {
    let database = open(Path::new(&path)).map_err(failed)?;
    database
        .execute_batch(&format!(
            "BEGIN; DROP TABLE IF EXISTS state; {SCHEMA} COMMIT;"
        ))
        .map_err(failed)?;
    let mut update = database
        .prepare("UPDATE state SET body = ?1 WHERE id = 1")
        .map_err(failed)?;
    let since = Instant::now();
    for number in 0..count {
        update
            .execute([number.to_le_bytes().as_slice()])
            .map_err(failed)?;
    }
    Ok(since.elapsed().as_secs_f64())
}

/// Commits `batches` transactions of `inserts` rows each; the seconds it took.
#[napi]
pub fn commit_batches(path: String, batches: u32, inserts: u32) -> Result<f64> {
    let run = || {
        let mut connection = open(Path::new(&path))?;
        connection.execute_batch(
            "CREATE TABLE IF NOT EXISTS item (id INTEGER PRIMARY KEY, name TEXT, amount REAL)",
        )?;
        let since = Instant::now();
        for _ in 0..batches {
            let transaction = connection.transaction()?;
            for index in 0..inserts {
                transaction
                    .prepare_cached("INSERT INTO item (name, amount) VALUES (?, ?)")?
                    .execute((format!("item {index}"), 1.5))?;
            }
            transaction.commit()?;
        }
        Ok(since.elapsed().as_secs_f64())
    };
    run().map_err(failed)
}

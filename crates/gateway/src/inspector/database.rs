//! An actor's tables as an inspector sees them.
//!
//! Reads as user code would, under the same authorizer and limits.

use bytes::Bytes;
use greenroom_core::{ActorContext, SqlCallOptions};
use greenroom_error::Result;
use greenroom_store::{ExecuteResult, SqlStatement, SqlValue};
use greenroom_wire::cbor::write;

const TABLES: &str = "SELECT name, type FROM sqlite_master \
    WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' \
    AND name NOT LIKE '\\_\\_drizzle\\_%' ESCAPE '\\' ORDER BY name";

/// CBOR `{tables: [{table, columns, foreignKeys, records}]}`.
pub(super) async fn schema(ctx: &ActorContext) -> Result<Bytes> {
    let tables = query(ctx, TABLES.to_owned(), Vec::new()).await?;
    let rows: Vec<&[SqlValue]> = tables.rows.iter().collect();
    let mut out = Vec::new();
    write::map(&mut out, 1);
    write::text(&mut out, "tables");
    write::array(&mut out, rows.len());
    for row in rows {
        if let [SqlValue::Text(name), SqlValue::Text(kind)] = row {
            table(ctx, &mut out, name, kind).await?;
        } else {
            write::null(&mut out);
        }
    }
    Ok(out.into())
}

async fn table(ctx: &ActorContext, out: &mut Vec<u8>, name: &str, kind: &str) -> Result<()> {
    let quoted = quoted(name);
    let columns = query(ctx, format!("PRAGMA table_info({quoted})"), Vec::new()).await?;
    let keys = query(
        ctx,
        format!("PRAGMA foreign_key_list({quoted})"),
        Vec::new(),
    )
    .await?;
    let count = query(ctx, format!("SELECT count(*) FROM {quoted}"), Vec::new()).await?;
    write::map(out, 4);
    write::text(out, "table");
    write::map(out, 3);
    for (field, text) in [("schema", "main"), ("name", name), ("type", kind)] {
        write::text(out, field);
        write::text(out, text);
    }
    write::text(out, "columns");
    rows_of(out, &columns);
    write::text(out, "foreignKeys");
    rows_of(out, &keys);
    write::text(out, "records");
    match count.rows.iter().next() {
        Some([count]) => write_value(out, count),
        _ => write::null(out),
    }
    Ok(())
}

/// CBOR array of maps.
pub(super) async fn rows(
    ctx: &ActorContext,
    table: &str,
    limit: u64,
    offset: u64,
) -> Result<Bytes> {
    let sql = format!("SELECT * FROM {} LIMIT ? OFFSET ?", quoted(table));
    let offset = i64::try_from(offset).unwrap_or(i64::MAX);
    let params = vec![SqlValue::Integer(limit as i64), SqlValue::Integer(offset)];
    let result = query(ctx, sql, params).await?;
    let mut out = Vec::new();
    rows_of(&mut out, &result);
    Ok(out.into())
}

async fn query(ctx: &ActorContext, sql: String, params: Vec<SqlValue>) -> Result<ExecuteResult> {
    let statement = SqlStatement::new(sql, params);
    ctx.user_sql()
        .execute(statement, SqlCallOptions::default())
        .await
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn rows_of(out: &mut Vec<u8>, result: &ExecuteResult) {
    write::array(out, result.rows.len());
    for row in result.rows.iter() {
        write::map(out, row.len());
        for (column, value) in result.columns.iter().zip(row) {
            write::text(out, column);
            write_value(out, value);
        }
    }
}

/// As the HTTP routes show values: numbers that JavaScript has, blobs as arrays.
fn write_value(out: &mut Vec<u8>, value: &SqlValue) {
    match value {
        SqlValue::Null => write::null(out),
        SqlValue::Integer(number) => write::number(out, *number as f64),
        SqlValue::Real(number) if number.is_finite() => write::number(out, *number),
        SqlValue::Real(_) => write::null(out),
        SqlValue::Text(text) => write::text(out, text),
        SqlValue::Blob(blob) => {
            write::array(out, blob.len());
            for byte in blob.iter() {
                write::uint(out, (*byte).into());
            }
        }
    }
}

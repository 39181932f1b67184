//! Rows put aside: in memory while they are few, in a nameless file beyond that.

use std::io::{self, BufReader, Read, Seek, Write};

use bytes::Bytes;
use tempfile::SpooledTempFile;

use super::value::{Rows, SqlValue};

/// Bytes kept in memory.
const MEMORY_MAX: usize = 256 * 1024;

/// Bytes put aside at most.
pub(super) const SPILL_BYTES_MAX: u64 = 4 * 1024 * 1024 * 1024;

const NULL: u8 = 0;
const INTEGER: u8 = 1;
const REAL: u8 = 2;
const TEXT: u8 = 3;
const BLOB: u8 = 4;

/// Takes rows in.
pub(super) struct SpillWriter {
    file: SpooledTempFile,
    /// One row at a time is put together here, so that the file sees few writes.
    row: Vec<u8>,
    rows: u64,
    bytes: u64,
}

/// Gives them back, in order.
pub(super) struct Spill {
    file: BufReader<SpooledTempFile>,
    rows: u64,
}

impl SpillWriter {
    pub(super) fn new() -> Self {
        Self {
            file: tempfile::spooled_tempfile(MEMORY_MAX),
            row: Vec::new(),
            rows: 0,
            bytes: 0,
        }
    }

    /// Adds a cell to the row that [`end_row`](Self::end_row) ends.
    pub(super) fn push_cell(&mut self, cell: &SqlValue) {
        encode(&mut self.row, cell);
    }

    pub(super) fn end_row(&mut self) -> io::Result<()> {
        self.bytes += self.row.len() as u64;
        if self.bytes > SPILL_BYTES_MAX {
            return Err(io::Error::new(
                io::ErrorKind::StorageFull,
                format!("more than {SPILL_BYTES_MAX} bytes of rows had to be put aside"),
            ));
        }
        self.rows += 1;
        self.file.write_all(&self.row)?;
        self.row.clear();
        Ok(())
    }

    pub(super) fn finish(mut self) -> io::Result<Spill> {
        self.file.rewind()?;
        Ok(Spill {
            file: BufReader::with_capacity(64 * 1024, self.file),
            rows: self.rows,
        })
    }
}

impl Spill {
    pub(super) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Appends the next row to `rows`; false if there is none left.
    pub(super) fn read_into(&mut self, rows: &mut Rows) -> io::Result<bool> {
        if self.rows == 0 {
            return Ok(false);
        }
        let row: Vec<SqlValue> = (0..rows.width())
            .map(|_| decode(&mut self.file))
            .collect::<io::Result<_>>()?;
        rows.push(row.into_iter());
        self.rows -= 1;
        Ok(true)
    }
}

fn encode(out: &mut Vec<u8>, value: &SqlValue) {
    let with_length = |out: &mut Vec<u8>, kind, bytes: &[u8]| {
        out.push(kind);
        out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        out.extend_from_slice(bytes);
    };
    match value {
        SqlValue::Null => out.push(NULL),
        SqlValue::Integer(value) => {
            out.push(INTEGER);
            out.extend_from_slice(&value.to_le_bytes());
        }
        SqlValue::Real(value) => {
            out.push(REAL);
            out.extend_from_slice(&value.to_le_bytes());
        }
        SqlValue::Text(text) => with_length(out, TEXT, text.as_bytes()),
        SqlValue::Blob(blob) => with_length(out, BLOB, blob),
    }
}

fn decode(from: &mut impl Read) -> io::Result<SqlValue> {
    let [kind] = array(from)?;
    Ok(match kind {
        NULL => SqlValue::Null,
        INTEGER => SqlValue::Integer(i64::from_le_bytes(array(from)?)),
        REAL => SqlValue::Real(f64::from_le_bytes(array(from)?)),
        TEXT => SqlValue::Text(String::from_utf8(bytes(from)?).map_err(damaged)?),
        BLOB => SqlValue::Blob(Bytes::from(bytes(from)?)),
        other => return Err(damaged(format!("kind {other}"))),
    })
}

fn array<const N: usize>(from: &mut impl Read) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn bytes(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let length = u64::from_le_bytes(array(from)?);
    // Not trusted with an allocation: whoever can write to the file could lie.
    let mut bytes = Vec::new();
    let read = from.take(length).read_to_end(&mut bytes)?;
    if read as u64 != length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(bytes)
}

fn damaged(what: impl std::fmt::Display) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("rows that were put aside are damaged: {what}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> Vec<SqlValue> {
        vec![
            SqlValue::Null,
            SqlValue::Integer(i64::MIN),
            SqlValue::Real(f64::NEG_INFINITY),
            SqlValue::Text("a\0ü".to_owned()),
            SqlValue::Blob(Bytes::from_static(&[0, 255])),
            SqlValue::Text(String::new()),
            SqlValue::Blob(Bytes::new()),
        ]
    }

    #[test]
    fn rows_come_back_as_they_went_in_from_memory_and_from_a_file() {
        for count in [0, 1, 20_000] {
            let mut writer = SpillWriter::new();
            for _ in 0..count {
                values().iter().for_each(|cell| writer.push_cell(cell));
                writer.end_row().unwrap();
            }
            let mut spill = writer.finish().unwrap();
            assert_eq!(spill.is_empty(), count == 0);
            for _ in 0..count {
                let mut rows = Rows::new(values().len());
                assert!(spill.read_into(&mut rows).unwrap());
                assert_eq!(rows.into_cells(), values());
            }
            assert!(!spill.read_into(&mut Rows::new(7)).unwrap());
        }
    }

    #[test]
    fn damage_is_an_error() {
        for bytes in [
            &[9][..],
            &[INTEGER, 1],
            &[TEXT, 255, 255, 255, 255, 255, 255, 255, 255],
        ] {
            assert!(decode(&mut &bytes[..]).is_err(), "{bytes:?}");
        }
    }
}

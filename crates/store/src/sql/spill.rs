//! Rows put aside: in memory while they are few, in a nameless file beyond that.

use std::io::{self, Read, Seek, SeekFrom, Write};

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

/// Bytes that go to the file, and come from it, at a time.
const BLOCK: usize = 64 * 1024;

/// Rows in the order in which they came. More may be added while others were read.
pub(super) struct Spill {
    file: SpooledTempFile,
    /// Where in the file the next block is read and written.
    read_at: u64,
    written: u64,
    /// The end of what came in, not in the file yet.
    incoming: Vec<u8>,
    /// The block of the file that is read now, and how far.
    outgoing: Vec<u8>,
    used: usize,
    rows: u64,
}

impl Spill {
    pub(super) fn new() -> Self {
        Self {
            file: tempfile::spooled_tempfile(MEMORY_MAX),
            read_at: 0,
            written: 0,
            incoming: Vec::new(),
            outgoing: Vec::new(),
            used: 0,
            rows: 0,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Adds a cell to the row that [`end_row`](Self::end_row) ends.
    pub(super) fn push_cell(&mut self, cell: &SqlValue) {
        encode(&mut self.incoming, cell);
    }

    pub(super) fn end_row(&mut self) -> io::Result<()> {
        if self.written + self.incoming.len() as u64 > SPILL_BYTES_MAX {
            return Err(io::Error::new(
                io::ErrorKind::StorageFull,
                format!("more than {SPILL_BYTES_MAX} bytes of rows had to be put aside"),
            ));
        }
        self.rows += 1;
        if self.incoming.len() >= BLOCK {
            self.write_block()?;
        }
        Ok(())
    }

    fn write_block(&mut self) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(self.written))?;
        self.file.write_all(&self.incoming)?;
        self.written += self.incoming.len() as u64;
        self.incoming.clear();
        Ok(())
    }

    /// Appends the next row to `rows`; false if there is none left.
    pub(super) fn read_into(&mut self, rows: &mut Rows) -> io::Result<bool> {
        if self.rows == 0 {
            return Ok(false);
        }
        let row: Vec<SqlValue> = (0..rows.width())
            .map(|_| decode(self))
            .collect::<io::Result<_>>()?;
        rows.push(row.into_iter());
        self.rows -= 1;
        Ok(true)
    }

    fn read_block(&mut self) -> io::Result<()> {
        if self.read_at == self.written {
            self.write_block()?;
        }
        self.outgoing.clear();
        self.used = 0;
        self.file.seek(SeekFrom::Start(self.read_at))?;
        let read = Read::take(&mut self.file, BLOCK as u64).read_to_end(&mut self.outgoing)?;
        self.read_at += read as u64;
        Ok(())
    }
}

impl Read for Spill {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.used == self.outgoing.len() {
            self.read_block()?;
        }
        let bytes = &self.outgoing[self.used..];
        let count = bytes.len().min(into.len());
        into[..count].copy_from_slice(&bytes[..count]);
        self.used += count;
        Ok(count)
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

    fn push(spill: &mut Spill, number: i64) {
        spill.push_cell(&SqlValue::Integer(number));
        values().iter().for_each(|cell| spill.push_cell(cell));
        spill.end_row().unwrap();
    }

    fn expect(spill: &mut Spill, number: i64) {
        let mut rows = Rows::new(values().len() + 1);
        assert!(spill.read_into(&mut rows).unwrap());
        let mut expected = vec![SqlValue::Integer(number)];
        expected.extend(values());
        assert_eq!(rows.into_cells(), expected);
    }

    #[test]
    fn rows_come_back_as_they_went_in_from_memory_and_from_a_file() {
        for count in [0, 1, 20_000] {
            let mut spill = Spill::new();
            (0..count).for_each(|number| push(&mut spill, number));
            assert_eq!(spill.is_empty(), count == 0);
            (0..count).for_each(|number| expect(&mut spill, number));
            assert!(!spill.read_into(&mut Rows::new(8)).unwrap());
        }
    }

    #[test]
    fn rows_may_be_added_while_others_are_read() {
        let mut spill = Spill::new();
        let (mut added, mut read) = (0, 0);
        for round in 0..40 {
            for _ in 0..(round * 97) % 1_500 {
                push(&mut spill, added);
                added += 1;
            }
            for _ in 0..(added - read).min((round * 61) % 1_100) {
                expect(&mut spill, read);
                read += 1;
            }
        }
        assert!(read > 5_000, "{read}");
        (read..added).for_each(|number| expect(&mut spill, number));
        assert!(spill.is_empty());
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

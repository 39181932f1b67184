//! Primitives of the BARE encoding, as far as the client protocol uses them.
//!
//! The reader hands out slices of the input: strings are borrowed, `data` is a
//! [`Bytes`] that shares the input's buffer. A length prefix only ever bounds a
//! slice of what is there, so it cannot cause an allocation. Message layouts
//! are not known here.

use bytes::Bytes;

use crate::malformed::{Malformed, Read};

const TRUNCATED: Malformed = Malformed::new("BARE input ends early");
/// Bytes a `uint` of 64 bits takes at most.
const UINT_BYTES_MAX: usize = 10;

/// Reads values off the front of a buffer.
#[derive(Debug)]
pub struct Reader {
    input: Bytes,
    at: usize,
}

impl Reader {
    pub fn new(input: Bytes) -> Self {
        Self { input, at: 0 }
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// If bytes are left over.
    pub fn finish(self) -> Read<()> {
        if self.at == self.input.len() {
            Ok(())
        } else {
            Err(Malformed::new("bytes are left after the BARE value"))
        }
    }

    fn take(&mut self, len: usize) -> Read<&[u8]> {
        let end = self.end_of(len)?;
        let start = std::mem::replace(&mut self.at, end);
        Ok(&self.input[start..end])
    }

    fn end_of(&self, len: usize) -> Read<usize> {
        match self.at.checked_add(len) {
            Some(end) if end <= self.input.len() => Ok(end),
            _ => Err(TRUNCATED),
        }
    }

    fn array<const N: usize>(&mut self) -> Read<[u8; N]> {
        let bytes = self.take(N)?;
        Ok(bytes.try_into().expect("take answers the length asked for"))
    }

    fn len(&mut self) -> Read<usize> {
        usize::try_from(self.uint()?).map_err(|_| TRUNCATED)
    }

    pub fn u8(&mut self) -> Read<u8> {
        self.array().map(u8::from_le_bytes)
    }

    pub fn u16(&mut self) -> Read<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u64(&mut self) -> Read<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// A variable-length unsigned integer in its shortest form.
    pub fn uint(&mut self) -> Read<u64> {
        let mut value = 0;
        for index in 0..UINT_BYTES_MAX {
            let byte = self.u8()?;
            // The tenth byte holds the one bit that is left of 64.
            if index == UINT_BYTES_MAX - 1 && byte > 1 {
                break;
            }
            value |= u64::from(byte & 0x7f) << (7 * index);
            if byte & 0x80 == 0 {
                if byte == 0 && index > 0 {
                    return Err(Malformed::new("BARE uint is not in its shortest form"));
                }
                return Ok(value);
            }
        }
        Err(Malformed::new("BARE uint exceeds 64 bits"))
    }

    pub fn bool(&mut self) -> Read<bool> {
        match self.u8()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(Malformed::new("BARE bool is neither 0 nor 1")),
        }
    }

    pub fn data(&mut self) -> Read<Bytes> {
        let len = self.len()?;
        let end = self.end_of(len)?;
        let start = std::mem::replace(&mut self.at, end);
        Ok(self.input.slice(start..end))
    }

    pub fn str(&mut self) -> Read<&str> {
        let len = self.len()?;
        std::str::from_utf8(self.take(len)?).map_err(|_| Malformed::new("BARE string is not UTF-8"))
    }

    pub fn string(&mut self) -> Read<String> {
        self.str().map(str::to_owned)
    }

    pub fn optional<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<Option<T>> {
        match self.u8()? {
            0 => Ok(None),
            1 => read(self).map(Some),
            _ => Err(Malformed::new("BARE optional is neither 0 nor 1")),
        }
    }
}

/// Appends values to a buffer.
#[derive(Debug, Default)]
pub struct Writer(Vec<u8>);

impl Writer {
    pub fn with_capacity(capacity: usize) -> Self {
        Self(Vec::with_capacity(capacity))
    }

    pub fn into_bytes(self) -> Bytes {
        self.0.into()
    }

    pub fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    pub fn u16(&mut self, value: u16) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub fn u64(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub fn uint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    pub fn bool(&mut self, value: bool) {
        self.u8(value.into());
    }

    pub fn str(&mut self, text: &str) {
        self.data(text.as_bytes());
    }

    pub fn data(&mut self, bytes: &[u8]) {
        self.data_head(bytes.len());
        self.0.extend_from_slice(bytes);
    }

    /// The length prefix of `data` whose bytes the caller puts behind this buffer.
    pub fn data_head(&mut self, len: usize) {
        self.uint(len as u64);
    }

    pub fn optional<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.bool(value.is_some());
        if let Some(value) = value {
            write(self, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reader(bytes: &[u8]) -> Reader {
        Reader::new(Bytes::copy_from_slice(bytes))
    }

    fn uint(bytes: &[u8]) -> Read<u64> {
        let mut reader = reader(bytes);
        let value = reader.uint()?;
        reader.finish()?;
        Ok(value)
    }

    #[test]
    fn integers_have_one_form_each() {
        assert_eq!(uint(&[0x00]), Ok(0));
        assert_eq!(uint(&[0x7f]), Ok(127));
        assert_eq!(uint(&[0x80, 0x01]), Ok(128));
        let mut largest = [0xff; 10];
        largest[9] = 0x01;
        assert_eq!(uint(&largest), Ok(u64::MAX));

        largest[9] = 0x02;
        assert!(uint(&largest).is_err());
        assert!(uint(&[0x80, 0x00]).is_err());
        assert!(uint(&[0x80]).is_err());
        assert!(uint(&[0x80; 11]).is_err());
        assert!(uint(&[0x01, 0x00]).is_err());
    }

    #[test]
    fn a_length_beyond_the_input_is_refused() {
        let mut writer = Writer::default();
        writer.uint(u64::MAX);
        let huge = writer.into_bytes();
        assert_eq!(reader(&huge).data(), Err(TRUNCATED));
        assert_eq!(reader(&huge).string(), Err(TRUNCATED));
        assert_eq!(reader(&[5, 1, 2]).data(), Err(TRUNCATED));
    }

    #[test]
    fn only_zero_and_one_are_flags() {
        assert_eq!(reader(&[1]).bool(), Ok(true));
        assert!(reader(&[2]).bool().is_err());
        assert_eq!(reader(&[0]).optional(Reader::u8), Ok(None));
        assert_eq!(reader(&[1, 9]).optional(Reader::u8), Ok(Some(9)));
        assert!(reader(&[2, 9]).optional(Reader::u8).is_err());
        assert!(reader(&[1, 0xff]).str().is_err());
    }

    #[test]
    fn data_shares_the_input() {
        let input = Bytes::from_static(&[2, 7, 8]);
        let data = Reader::new(input.clone()).data().unwrap();
        assert_eq!(data.as_ptr(), input[1..].as_ptr());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(n: u64, m: u64, text: String, data: Vec<u8>, flag: Option<bool>) {
            let mut writer = Writer::default();
            writer.uint(n);
            writer.u64(m);
            writer.str(&text);
            writer.data(&data);
            writer.optional(flag, Writer::bool);
            let mut reader = Reader::new(writer.into_bytes());
            prop_assert_eq!(reader.uint().unwrap(), n);
            prop_assert_eq!(reader.u64().unwrap(), m);
            prop_assert_eq!(reader.string().unwrap(), text);
            prop_assert_eq!(reader.data().unwrap(), data);
            prop_assert_eq!(reader.optional(Reader::bool).unwrap(), flag);
            prop_assert!(reader.finish().is_ok());
        }
    }
}

//! Reading CBOR heads and items in place.

use std::borrow::Cow;
use std::ops::Range;

use super::{ARRAY, BYTES, DEPTH_MAX, MAP, NEGATIVE, SIMPLE, TAG, TEXT, UNSIGNED};
use crate::malformed::{Malformed, Read};

const TRUNCATED: Malformed = Malformed::new("CBOR input ends early");
const STRAY_BREAK: Malformed = Malformed::new("CBOR break stands outside an indefinite item");

const INDEFINITE: u8 = 31;
const BREAK: u8 = 0xff;

/// The first bytes of an item: its major type, and its argument or length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The major type, 0 to 7.
    pub major: u8,
    /// The low five bits of the first byte.
    pub info: u8,
    /// The argument; 0 for indefinite lengths.
    pub argument: u64,
}

impl Head {
    pub const fn is_indefinite(self) -> bool {
        self.info == INDEFINITE
    }

    /// True for `null` and `undefined`.
    pub const fn is_nothing(self) -> bool {
        self.major == SIMPLE && matches!(self.info, 22 | 23)
    }
}

/// What is left of an array or map that is being read.
#[derive(Clone, Copy, Debug)]
pub struct Items(Left);

#[derive(Clone, Copy, Debug)]
enum Left {
    Count(u64),
    UntilBreak,
}

/// Reads items off the front of a buffer. Strings and slices are borrowed.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    input: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(input: &'a [u8]) -> Self {
        Self { input, at: 0 }
    }

    /// Offset of the next byte.
    pub fn position(&self) -> usize {
        self.at
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// If bytes are left over.
    pub fn finish(self) -> Read<()> {
        if self.at == self.input.len() {
            Ok(())
        } else {
            Err(Malformed::new("bytes are left after the CBOR item"))
        }
    }

    fn rest(&self) -> &'a [u8] {
        &self.input[self.at..]
    }

    fn take(&mut self, len: u64) -> Read<&'a [u8]> {
        let len = usize::try_from(len).map_err(|_| TRUNCATED)?;
        let taken = self.rest().get(..len).ok_or(TRUNCATED)?;
        self.at += len;
        Ok(taken)
    }

    fn big_endian(&mut self, len: u64) -> Read<u64> {
        let bytes = self.take(len)?;
        Ok(bytes.iter().fold(0, |n, byte| n << 8 | u64::from(*byte)))
    }

    /// The head of the next item. A break is refused: [`Reader::more`] eats
    /// those that end an item.
    pub fn head(&mut self) -> Read<Head> {
        let first = *self.rest().first().ok_or(TRUNCATED)?;
        if first == BREAK {
            return Err(STRAY_BREAK);
        }
        self.at += 1;
        let (major, info) = (first >> 5, first & 0x1f);
        let argument = match info {
            0..24 => u64::from(info),
            24..=27 => self.big_endian(1 << (info - 24))?,
            INDEFINITE if (BYTES..=MAP).contains(&major) => 0,
            _ => return Err(Malformed::new("CBOR head is reserved")),
        };
        if major == SIMPLE && info == 24 && argument < 32 {
            return Err(Malformed::new("CBOR simple value is in its long form"));
        }
        Ok(Head {
            major,
            info,
            argument,
        })
    }

    /// The head of the next item, which stays where it is.
    pub fn peek(&self) -> Read<Head> {
        self.clone().head()
    }

    /// The contents of the array or map whose head was just read.
    pub fn items(&self, head: Head) -> Read<Items> {
        if head.is_indefinite() {
            return Ok(Items(Left::UntilBreak));
        }
        // Each element takes a byte at least, so a longer promise is a lie
        // that is better told now than after a walk to the end.
        let bytes_min = head
            .argument
            .checked_mul(if head.major == MAP { 2 } else { 1 });
        match bytes_min {
            Some(bytes_min) if bytes_min <= self.rest().len() as u64 => {
                Ok(Items(Left::Count(head.argument)))
            }
            _ => Err(TRUNCATED),
        }
    }

    /// True if another element (or key and value) follows.
    pub fn more(&mut self, items: &mut Items) -> Read<bool> {
        match &mut items.0 {
            Left::Count(0) => Ok(false),
            Left::Count(count) => {
                *count -= 1;
                Ok(true)
            }
            Left::UntilBreak => {
                let ends = *self.rest().first().ok_or(TRUNCATED)? == BREAK;
                self.at += usize::from(ends);
                Ok(!ends)
            }
        }
    }

    /// The contents of the text string whose head was just read.
    pub fn text(&mut self, head: Head) -> Read<Cow<'a, str>> {
        let not_utf8 = |_| Malformed::new("CBOR text is not UTF-8");
        match self.string(head)? {
            Cow::Borrowed(bytes) => {
                let text = std::str::from_utf8(bytes).map_err(not_utf8)?;
                Ok(Cow::Borrowed(text))
            }
            Cow::Owned(bytes) => String::from_utf8(bytes)
                .map(Cow::Owned)
                .map_err(|error| not_utf8(error.utf8_error())),
        }
    }

    /// The contents of the byte or text string whose head was just read;
    /// chunks of an indefinite one are joined.
    pub fn string(&mut self, head: Head) -> Read<Cow<'a, [u8]>> {
        if !head.is_indefinite() {
            return self.take(head.argument).map(Cow::Borrowed);
        }
        let mut joined = Vec::new();
        let mut chunks = Items(Left::UntilBreak);
        while self.more(&mut chunks)? {
            joined.extend_from_slice(self.chunk(head.major)?);
        }
        Ok(Cow::Owned(joined))
    }

    fn chunk(&mut self, major: u8) -> Read<&'a [u8]> {
        let chunk = self.head()?;
        if chunk.major != major || chunk.is_indefinite() {
            return Err(Malformed::new("CBOR string has a chunk of another kind"));
        }
        self.take(chunk.argument)
    }

    /// Passes the next item.
    pub fn skip(&mut self) -> Read<()> {
        self.skip_below(0)
    }

    /// Passes the next item; answers where it stood.
    pub fn item(&mut self) -> Read<Range<usize>> {
        let start = self.at;
        self.skip()?;
        Ok(start..self.at)
    }

    fn skip_below(&mut self, depth: usize) -> Read<()> {
        // Small integers and simple values are one byte and most of all items.
        if let Some(0x00..=0x17 | 0x20..=0x37 | 0xe0..=0xf7) = self.rest().first() {
            self.at += 1;
            return Ok(());
        }
        let head = self.head()?;
        match head.major {
            BYTES | TEXT => self.skip_string(head),
            ARRAY | MAP | TAG => self.skip_children(head, deeper(depth)?),
            UNSIGNED | NEGATIVE | SIMPLE => Ok(()),
            8.. => unreachable!("a major type has three bits"),
        }
    }

    fn skip_string(&mut self, head: Head) -> Read<()> {
        if !head.is_indefinite() {
            return self.take(head.argument).map(drop);
        }
        let mut chunks = Items(Left::UntilBreak);
        while self.more(&mut chunks)? {
            self.chunk(head.major)?;
        }
        Ok(())
    }

    fn skip_children(&mut self, head: Head, depth: usize) -> Read<()> {
        if head.major == TAG {
            return self.skip_below(depth);
        }
        let mut items = self.items(head)?;
        while self.more(&mut items)? {
            self.skip_below(depth)?;
            if head.major == MAP {
                self.skip_below(depth)?;
            }
        }
        Ok(())
    }
}

/// The depth of an element of a container at `depth`.
pub(crate) fn deeper(depth: usize) -> Read<usize> {
    if depth < DEPTH_MAX {
        Ok(depth + 1)
    } else {
        Err(Malformed::new("CBOR nests too deep"))
    }
}

/// The value of a float's head, `None` if it is another simple value.
pub(crate) fn float(head: Head) -> Option<f64> {
    match (head.major, head.info) {
        (SIMPLE, 25) => Some(half(head.argument as u16)),
        (SIMPLE, 26) => Some(f32::from_bits(head.argument as u32).into()),
        (SIMPLE, 27) => Some(f64::from_bits(head.argument)),
        _ => None,
    }
}

/// Widens a 16-bit float.
pub(crate) fn half(bits: u16) -> f64 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let exponent = i32::from(bits >> 10 & 0x1f);
    let fraction = f64::from(bits & 0x3ff);
    sign * match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    }
}

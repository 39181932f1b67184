//! Typed arrays as byte strings under the tags of RFC 8746.

use std::ffi::CStr;

use napi::sys::TypedarrayType as T;

/// Tag of an element type in this machine's byte order; `None` for types that
/// the standard does not know.
pub(super) fn tag_of(element: i32) -> Option<u64> {
    let little = cfg!(target_endian = "little");
    let tag = |big: u64, small: u64| if little { small } else { big };
    Some(match element {
        T::uint8_array => 64,
        T::uint8_clamped_array => 68,
        T::int8_array => 72,
        T::uint16_array => tag(65, 69),
        T::uint32_array => tag(66, 70),
        T::biguint64_array => tag(67, 71),
        T::int16_array => tag(73, 77),
        T::int32_array => tag(74, 78),
        T::bigint64_array => tag(75, 79),
        T::float32_array => tag(81, 85),
        T::float64_array => tag(82, 86),
        _ => return None,
    })
}

/// How the bytes behind a tag become a typed array.
pub(super) struct Layout {
    /// Name of its constructor.
    pub(super) class: &'static CStr,
    pub(super) width: usize,
    pub(super) big_endian: bool,
}

pub(super) fn layout(tag: u64) -> Option<Layout> {
    let (class, width) = match tag {
        64 => (c"Uint8Array", 1),
        68 => (c"Uint8ClampedArray", 1),
        72 => (c"Int8Array", 1),
        65 | 69 => (c"Uint16Array", 2),
        66 | 70 => (c"Uint32Array", 4),
        67 | 71 => (c"BigUint64Array", 8),
        73 | 77 => (c"Int16Array", 2),
        74 | 78 => (c"Int32Array", 4),
        75 | 79 => (c"BigInt64Array", 8),
        81 | 85 => (c"Float32Array", 4),
        82 | 86 => (c"Float64Array", 8),
        _ => return None,
    };
    Some(Layout {
        class,
        width,
        // The third bit from the right tells little-endian.
        big_endian: width > 1 && tag & 0b100 == 0,
    })
}

impl Layout {
    /// The bytes in this machine's order; `None` if they are no whole elements.
    pub(super) fn native_order(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        if !bytes.len().is_multiple_of(self.width) {
            return None;
        }
        let mut native = bytes.to_vec();
        if self.width > 1 && self.big_endian == cfg!(target_endian = "little") {
            native
                .chunks_exact_mut(self.width)
                .for_each(<[u8]>::reverse);
        }
        Some(native)
    }
}

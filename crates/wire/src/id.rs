//! Identifiers: actors (and namespaces) by [`ActorId`], requests by [`RayId`].
//!
//! An id is 19 bytes: a version, a random UUID and the label of a datacenter.
//! Its text reads those bytes as one little-endian number and writes it in base
//! 36, least significant digit first, always 30 digits. The text is what every
//! message, header and file name uses, so it is what is stored.

use std::fmt;
use std::str::FromStr;

use greenroom_error::{Error, Result, code};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use uuid::Uuid;

/// Length of an id's text.
pub const TEXT_LEN: usize = 30;
/// The datacenter label of ids made by this process.
pub const LOCAL_DATACENTER: u16 = 1;

const VERSION: u8 = 1;
const BINARY_LEN: usize = 19;
const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
/// Digits converted per big-number step, and their weight (36^5 fits `u32`).
const GROUP_LEN: usize = 5;
const GROUP_WEIGHT: u64 = 36u64.pow(GROUP_LEN as u32);

/// A well-formed id.
///
/// Invariant: 30 characters of `[0-9a-z]` whose number fits 19 bytes and has
/// version 1. Ordering is that of the text and means nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ActorId([u8; TEXT_LEN]);

impl ActorId {
    /// A fresh random id of this datacenter.
    pub fn generate() -> Self {
        Self::from_parts(Uuid::new_v4(), LOCAL_DATACENTER)
    }

    /// The id of a given UUID and datacenter label.
    pub fn from_parts(uuid: Uuid, datacenter: u16) -> Self {
        let mut binary = [0; BINARY_LEN];
        binary[0] = VERSION;
        binary[1..17].copy_from_slice(uuid.as_bytes());
        binary[17..].copy_from_slice(&datacenter.to_be_bytes());
        Self(to_text(&binary))
    }

    /// Reads an id; `None` unless every rule of the form holds.
    pub fn parse(text: &str) -> Option<Self> {
        let text: [u8; TEXT_LEN] = text.as_bytes().try_into().ok()?;
        let binary = from_text(&text)?;
        (binary[0] == VERSION).then_some(Self(text))
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("an id holds base-36 digits only")
    }

    /// Label of the datacenter the id was made in.
    pub fn datacenter(&self) -> u16 {
        let binary = self.binary();
        u16::from_be_bytes([binary[17], binary[18]])
    }

    pub fn uuid(&self) -> Uuid {
        Uuid::from_slice(&self.binary()[1..17]).expect("a UUID is 16 bytes")
    }

    fn binary(&self) -> [u8; BINARY_LEN] {
        from_text(&self.0).expect("an id is validated when it is made")
    }
}

/// The five 32-bit limbs of the number, least significant first.
type Limbs = [u32; 5];

fn to_text(binary: &[u8; BINARY_LEN]) -> [u8; TEXT_LEN] {
    let mut limbs: Limbs = [0; 5];
    for (limb, chunk) in limbs.iter_mut().zip(binary.chunks(4)) {
        let mut bytes = [0; 4];
        bytes[..chunk.len()].copy_from_slice(chunk);
        *limb = u32::from_le_bytes(bytes);
    }
    let mut text = [0; TEXT_LEN];
    for group in text.chunks_mut(GROUP_LEN) {
        let mut rest = 0;
        for limb in limbs.iter_mut().rev() {
            let value = rest << 32 | u64::from(*limb);
            *limb = (value / GROUP_WEIGHT) as u32;
            rest = value % GROUP_WEIGHT;
        }
        for digit in group {
            *digit = DIGITS[(rest % 36) as usize];
            rest /= 36;
        }
    }
    text
}

fn from_text(text: &[u8; TEXT_LEN]) -> Option<[u8; BINARY_LEN]> {
    let mut limbs: Limbs = [0; 5];
    for group in text.rchunks(GROUP_LEN) {
        let mut carry = 0;
        for digit in group.iter().rev() {
            let value = match digit {
                b'0'..=b'9' => digit - b'0',
                b'a'..=b'z' => digit - b'a' + 10,
                _ => return None,
            };
            carry = carry * 36 + u64::from(value);
        }
        for limb in &mut limbs {
            let value = u64::from(*limb) * GROUP_WEIGHT + carry;
            *limb = value as u32;
            carry = value >> 32;
        }
    }
    let mut bytes = [0; 20];
    for (chunk, limb) in bytes.chunks_mut(4).zip(limbs) {
        chunk.copy_from_slice(&limb.to_le_bytes());
    }
    // 36^30 is below 2^160, so the limbs hold any text; an id has 152 bits.
    let (binary, overflow) = bytes.split_at(BINARY_LEN);
    (overflow == [0]).then(|| binary.try_into().expect("split at the length of an id"))
}

impl FromStr for ActorId {
    type Err = Error;

    /// # Errors
    /// `actor/not_found`: a text that is not an id names no actor.
    fn from_str(text: &str) -> Result<Self> {
        Self::parse(text).ok_or_else(|| {
            Error::new(&code::ACTOR_NOT_FOUND)
                .with_message("The actor does not exist or was destroyed.")
        })
    }
}

impl fmt::Display for ActorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for ActorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ActorId({})", self.as_str())
    }
}

impl Serialize for ActorId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for ActorId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| de::Error::custom("malformed actor id"))
    }
}

/// The id of one request, made here or adopted from the caller.
///
/// Invariant: 1 to 30 characters of `[A-Za-z0-9_-]`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RayId {
    text: [u8; TEXT_LEN],
    len: u8,
}

impl RayId {
    /// A fresh id, of the same form as an actor id.
    pub fn generate() -> Self {
        Self {
            text: ActorId::generate().0,
            len: TEXT_LEN as u8,
        }
    }

    /// Adopts the caller's id; `None` if it is empty, too long or has other characters.
    pub fn parse(value: &[u8]) -> Option<Self> {
        let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        if value.is_empty() || value.len() > TEXT_LEN || !value.iter().all(allowed) {
            return None;
        }
        let mut text = [0; TEXT_LEN];
        text[..value.len()].copy_from_slice(value);
        Some(Self {
            text,
            len: value.len() as u8,
        })
    }

    /// The id of a request with this `x-rivet-ray-id` header: the caller's if
    /// well-formed, a fresh one otherwise.
    pub fn from_header(value: Option<&[u8]>) -> Self {
        value.and_then(Self::parse).unwrap_or_else(Self::generate)
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.text[..usize::from(self.len)])
            .expect("a ray id holds ASCII characters only")
    }
}

impl fmt::Display for RayId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for RayId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RayId({})", self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const CAPTURED: &str = "x45shjmfofvy2hsn71ye5t4dkwal00";

    #[test]
    fn captured_ids_decode_to_their_parts() {
        let uuid = Uuid::from_u128(0x0657badd_19f2_4c7f_9c1c_476e7a4e522b);
        let id = ActorId::parse(CAPTURED).unwrap();
        assert_eq!((id.uuid(), id.datacenter()), (uuid, 1));
        assert_eq!(ActorId::from_parts(uuid, 1).as_str(), CAPTURED);

        let other = ActorId::parse("d9fv68dbvyvve6gcyrkqvyew5oal00").unwrap();
        assert_eq!(other.datacenter(), LOCAL_DATACENTER);
        assert_eq!(other.uuid().get_version_num(), 4);
    }

    #[test]
    fn malformed_ids_are_refused() {
        let version_2 = format!("y{}", &CAPTURED[1..]);
        let upper = CAPTURED.to_uppercase();
        let long = format!("{CAPTURED}0");
        let overflow = "z".repeat(TEXT_LEN);
        for text in ["", &CAPTURED[1..], &long, &version_2, &upper, &overflow] {
            assert!(ActorId::parse(text).is_none(), "{text}");
            assert!(
                text.parse::<ActorId>()
                    .unwrap_err()
                    .is(&code::ACTOR_NOT_FOUND)
            );
        }
    }

    #[test]
    fn ids_are_strings_in_json() {
        let id = ActorId::parse(CAPTURED).unwrap();
        assert_eq!(serde_json::to_value(id).unwrap(), json!(CAPTURED));
        let back: ActorId = serde_json::from_value(json!(CAPTURED)).unwrap();
        assert_eq!(back, id);
        assert!(serde_json::from_value::<ActorId>(json!("nope")).is_err());
        assert!(serde_json::from_value::<ActorId>(json!(7)).is_err());
    }

    #[test]
    fn a_fresh_id_is_local_and_unlike_the_last() {
        let (one, two) = (ActorId::generate(), ActorId::generate());
        assert_ne!(one, two);
        assert!(one.as_str().ends_with("l00"), "{one}");
        assert_eq!(ActorId::parse(one.as_str()), Some(one));
    }

    #[test]
    fn a_well_formed_ray_id_is_adopted_and_another_replaced() {
        for value in ["r", "Aa0_-", &"x".repeat(30)] {
            assert_eq!(RayId::from_header(Some(value.as_bytes())).as_str(), value);
        }
        for value in ["", "a b", "é", &"x".repeat(31)] {
            assert!(RayId::parse(value.as_bytes()).is_none());
            assert_eq!(
                RayId::from_header(Some(value.as_bytes())).as_str().len(),
                30
            );
        }
        assert_ne!(RayId::from_header(None), RayId::from_header(None));
    }

    proptest! {
        #[test]
        fn any_parts_survive_the_text(uuid: u128, datacenter: u16) {
            let id = ActorId::from_parts(Uuid::from_u128(uuid), datacenter);
            let back = ActorId::parse(id.as_str()).unwrap();
            prop_assert_eq!((back.uuid().as_u128(), back.datacenter()), (uuid, datacenter));
        }

        #[test]
        fn a_text_is_accepted_if_it_is_that_of_its_parts(text in "x45s[0-9a-z]{25}[0-5]") {
            // The first four digits alone decide the version, the last the range.
            match ActorId::parse(&text) {
                Some(id) => {
                    let again = ActorId::from_parts(id.uuid(), id.datacenter());
                    prop_assert_eq!(again.as_str(), text);
                }
                None => prop_assert!(text.ends_with(['4', '5'])),
            }
        }
    }
}

//! Which number a kind of message has in which version.

use super::InspectorVersion;
use crate::malformed::{Malformed, Read};

/// From the second version on, messages were added in between and none was moved
/// past another: each version numbers those it has in the order of the newest.
pub(super) struct Numbering<K: 'static> {
    pub(super) first: &'static [K],
    pub(super) current: &'static [K],
    /// The version that brought a kind.
    pub(super) since: fn(K) -> u16,
}

impl<K: Copy + PartialEq> Numbering<K> {
    fn order(&self, version: InspectorVersion) -> impl Iterator<Item = K> {
        let order = match version.at_least(2) {
            true => self.current,
            false => self.first,
        };
        let known = move |kind: &K| !version.at_least(2) || version.at_least((self.since)(*kind));
        order.iter().copied().filter(known)
    }

    /// `None` if the version has no such message.
    pub(super) fn tag(&self, version: InspectorVersion, kind: K) -> Option<u8> {
        let at = self.order(version).position(|known| known == kind)?;
        u8::try_from(at).ok()
    }

    pub(super) fn kind(&self, version: InspectorVersion, tag: u8) -> Read<K> {
        let unknown = Malformed::new("the inspector message has an unknown tag");
        self.order(version).nth(tag.into()).ok_or(unknown)
    }
}

//! `GREENROOM_DECODER=to_server cargo fuzz run decoder fuzz/seeds/to_server`: one
//! of the decoders; without the variable the first byte chooses.

#![no_main]

#[path = "../decoders.rs"]
mod decoders;

use std::sync::LazyLock;

use decoders::{DECODERS, Decoder};
use libfuzzer_sys::fuzz_target;

static CHOSEN: LazyLock<Option<&Decoder>> = LazyLock::new(|| {
    let name = std::env::var("GREENROOM_DECODER").ok()?;
    let found = DECODERS.iter().find(|(decoder, _)| *decoder == name);
    Some(found.unwrap_or_else(|| panic!("no decoder is called {name}")))
});

fuzz_target!(|bytes: &[u8]| {
    match (*CHOSEN, bytes) {
        (Some((_, check)), bytes) => check(bytes),
        (None, [first, rest @ ..]) => (DECODERS[*first as usize % DECODERS.len()].1)(rest),
        (None, []) => {}
    }
});

//! The fuzz targets for a bounded time, on the stable compiler: seeds and what
//! chance makes of them. `GREENROOM_FUZZ_SECONDS` is the time of each decoder
//! (default 0.5), `GREENROOM_FUZZ_SEED` repeats a run.

#[path = "../../../fuzz/decoders.rs"]
mod decoders;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use decoders::{DECODERS, Decoder};

/// Bytes that mean something to some decoder.
const TELLING: &[u8] =
    b"\x00\x01\x02\x04\x7f\x80\xff\xf6\xf7\xfb\x1b\x9f\xbf\xc2$[]{}\",:\\/%+&=@.-";
const LENGTH_MAX: usize = 4096;

/// xorshift64*: enough chance for this, and the same everywhere.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    fn byte(&mut self) -> u8 {
        match self.below(3) {
            0 => self.next() as u8,
            _ => TELLING[self.below(TELLING.len())],
        }
    }

    /// A few changes to one seed, at times with the end of another.
    fn mutate(&mut self, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = seeds[self.below(seeds.len())].clone();
        for _ in 0..=self.below(6) {
            let at = self.below(bytes.len() + 1);
            match self.below(7) {
                0 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
                1 if at < bytes.len() => bytes[at] = self.byte(),
                2 => bytes.insert(at, self.byte()),
                3 if at < bytes.len() => drop(bytes.remove(at)),
                4 => bytes.truncate(at),
                5 => {
                    let other = &seeds[self.below(seeds.len())];
                    bytes.truncate(at);
                    bytes.extend_from_slice(&other[self.below(other.len() + 1)..]);
                }
                _ => {
                    let end = (at + self.below(16)).min(bytes.len());
                    let piece = bytes[at..end].to_vec();
                    bytes.splice(at..at, piece);
                }
            }
            bytes.truncate(LENGTH_MAX);
        }
        bytes
    }
}

fn seeds(name: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
    let files = fs::read_dir(folder.join(name)).expect("each decoder has a folder of seeds");
    let mut paths: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    // The order of a folder is the system's; a run can be repeated anywhere.
    paths.sort();
    assert!(!paths.is_empty(), "no seeds for {name}");
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

fn check((name, check): &Decoder, bytes: &[u8], seed: u64) {
    if catch_unwind(AssertUnwindSafe(|| check(bytes))).is_err() {
        let bytes = bytes.escape_ascii();
        panic!("{name} fails (GREENROOM_FUZZ_SEED={seed}) on \"{bytes}\"");
    }
}

fn number(name: &str) -> Option<f64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the bound is one of real time, and so is where chance begins"
)]
fn decoders_take_whatever_comes_and_keep_what_they_accept() {
    let span = Duration::from_secs_f64(number("GREENROOM_FUZZ_SECONDS").unwrap_or(0.5));
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let seed = match number("GREENROOM_FUZZ_SEED") {
        Some(seed) => seed as u64,
        None => now.map_or(1, |since| since.as_millis() as u64),
    };
    for decoder in DECODERS {
        let seeds = seeds(decoder.0);
        for bytes in &seeds {
            check(decoder, bytes, seed);
        }
        let mut chance = Chance(seed | 1);
        let end = Instant::now() + span;
        while Instant::now() < end {
            for _ in 0..64 {
                check(decoder, &chance.mutate(&seeds), seed);
            }
        }
    }
}

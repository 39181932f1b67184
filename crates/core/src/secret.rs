//! Comparing what a stranger says with what only friends know.

/// True if both are the same. Takes as long for a wrong secret as for a right one of
/// the same length.
pub fn same_secret(given: &[u8], expected: &[u8]) -> bool {
    let pairs = given.iter().zip(expected);
    let differences = pairs.fold(0, |all, (one, other)| all | (one ^ other));
    given.len() == expected.len() && std::hint::black_box(differences) == 0
}

#[cfg(test)]
mod tests {
    use super::same_secret;

    #[test]
    fn only_the_whole_secret_is_the_same() {
        assert!(same_secret(b"open sesame", b"open sesame"));
        for wrong in ["", "open", "pen sesame", "open sesamf", "open sesame!"] {
            assert!(!same_secret(wrong.as_bytes(), b"open sesame"), "{wrong}");
        }
    }
}

//! The little of SQL's grammar that must be known outside SQLite: where text has
//! no statement left, and with which word a statement begins.

/// True if `sql` holds nothing but white space, comments and semicolons.
pub(super) fn is_blank(sql: &str) -> bool {
    skip_blank(sql).is_empty()
}

/// `sql` from its first token on.
pub(super) fn skip_blank(sql: &str) -> &str {
    let mut rest = sql;
    loop {
        // SQLite also skips a byte order mark.
        rest = rest.trim_start_matches([' ', '\t', '\n', '\r', '\x0c', ';', '\u{feff}']);
        rest = if let Some(comment) = rest.strip_prefix("--") {
            comment.split_once('\n').map_or("", |(_, after)| after)
        } else if let Some(comment) = rest.strip_prefix("/*") {
            // An unclosed comment ends with the text.
            comment.split_once("*/").map_or("", |(_, after)| after)
        } else {
            return rest;
        };
    }
}

/// The first word of a statement; empty if it begins otherwise.
pub(super) fn first_word(sql: &str) -> &str {
    let rest = skip_blank(sql);
    let end = rest
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(rest.len());
    &rest[..end]
}

/// True for `COMMIT`, `END` and a `ROLLBACK` that is not one to a savepoint.
pub(super) fn ends_transaction(sql: &str) -> bool {
    let word = first_word(sql);
    if word.eq_ignore_ascii_case("commit") || word.eq_ignore_ascii_case("end") {
        return true;
    }
    if !word.eq_ignore_ascii_case("rollback") {
        return false;
    }
    let mut rest = &skip_blank(sql)[word.len()..];
    if first_word(rest).eq_ignore_ascii_case("transaction") {
        rest = &skip_blank(rest)["transaction".len()..];
    }
    !first_word(rest).eq_ignore_ascii_case("to")
}

/// True for statements that only read rows, if SQLite says that they do not write.
pub(super) fn is_query(sql: &str) -> bool {
    if skip_blank(sql).starts_with('(') {
        return true;
    }
    ["select", "with", "values", "explain"]
        .iter()
        .any(|word| first_word(sql).eq_ignore_ascii_case(word))
}

/// True for statements that read or write rows of tables.
pub(super) fn is_about_rows(sql: &str) -> bool {
    [
        "select", "insert", "update", "delete", "replace", "with", "values",
    ]
    .iter()
    .any(|word| first_word(sql).eq_ignore_ascii_case(word))
}

/// True for a `CREATE TABLE`, temporary or not.
pub(super) fn creates_table(sql: &str) -> bool {
    let mut rest = sql;
    for expected in ["create", "temp", "temporary", "table"] {
        let word = first_word(rest);
        let same = word.eq_ignore_ascii_case(expected);
        match expected {
            "table" => return same,
            "create" if !same => return false,
            _ if same => rest = &skip_blank(rest)[word.len()..],
            _ => {}
        }
    }
    false
}

/// True for statements that set SQLite's count of changes.
pub(super) fn changes_rows(sql: &str) -> bool {
    ["insert", "update", "delete", "replace", "with"]
        .iter()
        .any(|word| first_word(sql).eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_semicolons_are_no_statement() {
        for blank in [
            "",
            " ;\n;",
            "-- end",
            "/* a */ -- b\n ;",
            "/* open",
            "\u{feff}",
        ] {
            assert!(is_blank(blank), "{blank:?}");
        }
        for text in ["x", "-- a\nx", "/* a */x", "- -", "/", "'--'"] {
            assert!(!is_blank(text), "{text:?}");
        }
    }

    #[test]
    fn a_rollback_to_a_savepoint_ends_nothing() {
        for sql in [
            "COMMIT",
            "/* x */ end",
            "rollback",
            "ROLLBACK TRANSACTION",
            "rollback -- to",
        ] {
            assert!(ends_transaction(sql), "{sql}");
        }
        for sql in [
            "ROLLBACK TO s",
            "rollback transaction to savepoint s",
            "ROLLBACK/**/TO s",
            "SELECT 'COMMIT'",
            "BEGIN",
        ] {
            assert!(!ends_transaction(sql), "{sql}");
        }
    }

    #[test]
    fn a_table_is_created_however_it_is_spelled() {
        for sql in [
            "CREATE TABLE t (a)",
            "create/**/temp -- x\n table t (a)",
            "Create Temporary Table t (a)",
        ] {
            assert!(creates_table(sql), "{sql}");
        }
        for sql in [
            "CREATE VIEW t AS SELECT 1",
            "TABLE",
            "CREATE INDEX i ON t (a)",
        ] {
            assert!(!creates_table(sql), "{sql}");
        }
    }

    #[test]
    fn the_first_word_is_found_behind_comments() {
        assert_eq!(first_word(" /* x */ -- y\n SELECT 1"), "SELECT");
        assert_eq!(first_word("(select 1)"), "");
        assert_eq!(first_word("vacuum"), "vacuum");
        assert!(changes_rows("Replace into t values (1)"));
        assert!(!changes_rows("explain insert into t values (1)"));
    }
}

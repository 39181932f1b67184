use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::cbor::{self, DEPTH_MAX};

fn json_of(cbor: &[u8]) -> String {
    String::from_utf8(cbor_to_json(cbor).unwrap()).unwrap()
}

fn cbor_of(json: &str) -> Vec<u8> {
    json_to_cbor(json.as_bytes()).unwrap().to_vec()
}

#[test]
fn json_becomes_the_shortest_cbor() {
    assert_eq!(cbor_of("null"), b"\xf6");
    assert_eq!(cbor_of(r#"{"tok":1}"#), b"\xa1\x63tok\x01");
    assert_eq!(cbor_of(r#" [true, false, -1, 1.0, 0.5, "é"] "#), {
        let mut expected = b"\x86\xf5\xf4\x20\x01\xfb".to_vec();
        expected.extend(0.5f64.to_be_bytes());
        expected.extend(b"\x62\xc3\xa9");
        expected
    });
    assert_eq!(cbor_of(r#"["$BigInt","5"]"#), b"\x82\x67$BigInt\x615");
}

#[test]
fn json_numbers_beyond_32_bits_stay_numbers() {
    for (text, value) in [
        ("5000000000", 5e9),
        ("-4294967297", -4_294_967_297.0),
        ("18446744073709551615", 1.844_674_407_370_955_2e19),
        ("1e300", 1e300),
        ("-0", -0.0),
    ] {
        let mut expected = vec![0xfb];
        expected.extend(f64::to_be_bytes(value));
        assert_eq!(cbor_of(text), expected, "{text}");
    }
}

#[test]
fn text_that_is_not_json_is_refused() {
    for text in ["", " ", "{", "1 2", "[1,]", "nul", "\"\\ud800\"", "{1:2}"] {
        assert!(json_to_cbor(text.as_bytes()).is_err(), "{text}");
    }
    assert!(json_to_cbor(b"\"\xff\"").is_err());
    assert!(json_to_cbor("[".repeat(100_000).as_bytes()).is_err());
}

#[test]
fn plain_cbor_becomes_the_same_json() {
    assert_eq!(
        json_of(b"\xb9\x00\x01\x61a\x83\x01\xf5\xf6"),
        r#"{"a":[1,true,null]}"#
    );
    assert_eq!(json_of(b"\x9f\xff"), "[]");
    assert_eq!(json_of(b"\xbf\xff"), "{}");
    assert_eq!(json_of(b"\x7f\x61a\x61\"\xff"), r#""a\"""#);
    assert_eq!(json_of(b"\x82\x67$BigInt\x615"), r#"["$BigInt","5"]"#);
    assert_eq!(json_of(cbor::UNDEFINED_TAG), r#"["$Undefined",0]"#);
}

#[test]
fn numbers_without_a_json_form_are_replaced() {
    assert_eq!(json_of(b"\xf9\x7e\x00"), "null");
    assert_eq!(json_of(b"\xf9\xfc\x00"), "null");
    assert_eq!(json_of(b"\xf7"), "null");
    assert_eq!(json_of(b"\xf9\x3c\x00"), "1");
    assert_eq!(json_of(b"\xf9\x00\x01"), "5.960464477539063e-8");
    assert_eq!(json_of(b"\xfa\x3f\x00\x00\x00"), "0.5");
    assert_eq!(json_of(b"\xfb\x80\0\0\0\0\0\0\0"), "0");
    assert_eq!(
        json_of(b"\x1b\0\x1f\xff\xff\xff\xff\xff\xff"),
        "9007199254740991"
    );
    assert_eq!(
        json_of(b"\x1b\0\x20\0\0\0\0\0\0"),
        r#"["$BigInt","9007199254740992"]"#
    );
    assert_eq!(
        json_of(b"\x3b\xff\xff\xff\xff\xff\xff\xff\xff"),
        r#"["$BigInt","-18446744073709551616"]"#
    );
}

#[test]
fn bignums_are_written_in_decimal() {
    assert_eq!(
        json_of(b"\xc2\x49\x01\0\0\0\0\0\0\0\0"),
        r#"["$BigInt","18446744073709551616"]"#
    );
    assert_eq!(
        json_of(b"\xc3\x49\x01\0\0\0\0\0\0\0\0"),
        r#"["$BigInt","-18446744073709551617"]"#
    );
    assert_eq!(json_of(b"\xc2\x40"), r#"["$BigInt","0"]"#);
    assert_eq!(json_of(b"\xc3\x42\x00\x00"), r#"["$BigInt","-1"]"#);
    assert_eq!(
        json_of(b"\xc3\x44\xff\xff\xff\xff"),
        r#"["$BigInt","-4294967296"]"#
    );
    let mut long = b"\xc2\x59\x04\x01".to_vec();
    long.extend([1; 1025]);
    assert!(cbor_to_json(&long).is_err());
}

#[test]
fn dates_are_iso_text() {
    let of = |seconds: f64| {
        let mut item = b"\xc1\xfb".to_vec();
        item.extend(seconds.to_be_bytes());
        json_of(&item)
    };
    assert_eq!(
        json_of(b"\xc1\x1a\x65\x92\x00\x80"),
        r#""2024-01-01T00:00:00.000Z""#
    );
    assert_eq!(of(1_709_210_096.789), r#""2024-02-29T12:34:56.789Z""#);
    assert_eq!(of(-0.001), r#""1969-12-31T23:59:59.999Z""#);
    assert_eq!(of(-62_198_755_200.0), r#""-000001-01-01T00:00:00.000Z""#);
    assert_eq!(of(8.64e12), r#""+275760-09-13T00:00:00.000Z""#);
    assert_eq!(of(8.64e12 + 1.0), "null");
    assert_eq!(of(f64::NAN), "null");
    assert_eq!(json_of(b"\xc0\x61x"), r#""x""#);
    assert_eq!(json_of(b"\xc1\x61x"), r#""x""#);
}

#[test]
fn maps_become_objects_and_sets_become_tagged_arrays() {
    assert_eq!(
        json_of(b"\xd9\x01\x03\xb9\x00\x05\x61a\x01\x02\x03\xf5\x04\x20\x05\xf9\x3e\x00\x06"),
        r#"{"a":1,"2":3,"true":4,"-1":5,"1.5":6}"#
    );
    assert_eq!(json_of(b"\xd9\x01\x02\x82\x01\x02"), r#"["$Set",[1,2]]"#);
    assert!(cbor_to_json(b"\xa1\x80\x01").is_err());
    assert!(cbor_to_json(b"\xa1\x41a\x01").is_err());
}

#[test]
fn bytes_and_typed_arrays_have_forms() {
    assert_eq!(json_of(b"\x42\x01\x02"), r#"["$Uint8Array","AQI="]"#);
    assert_eq!(
        json_of(b"\xd8\x40\x42\x01\x02"),
        r#"["$Uint8Array","AQI="]"#
    );
    assert_eq!(json_of(b"\xd8\x44\x42\x01\xff"), "[1,255]");
    assert_eq!(json_of(b"\xd8\x48\x42\x01\xff"), "[1,-1]");
    assert_eq!(json_of(b"\xd8\x41\x44\x01\x02\xff\xff"), "[258,65535]");
    assert_eq!(json_of(b"\xd8\x4e\x48\x01\0\0\0\xff\xff\xff\xff"), "[1,-1]");
    assert_eq!(
        json_of(b"\xd8\x4f\x48\xff\xff\xff\xff\xff\xff\xff\xff"),
        r#"[["$BigInt","-1"]]"#
    );
    assert_eq!(json_of(b"\xd8\x54\x42\x00\x3c"), "[1]");
    assert_eq!(json_of(b"\xd8\x51\x44\x3f\x00\x00\x00"), "[0.5]");
    assert_eq!(json_of(b"\xd8\x56\x48\0\0\0\0\0\0\xe0\x3f"), "[0.5]");
    assert!(cbor_to_json(b"\xd8\x4e\x43\x01\x02\x03").is_err());
    assert!(cbor_to_json(b"\xd8\x57\x50\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0").is_err());
    assert_eq!(json_of(b"\xd8\x1b\x82\x61R\x61x"), r#"["R","x"]"#);
}

#[test]
fn half_a_surrogate_pair_is_escaped() {
    assert_eq!(json_of(b"\x63\xed\xa0\x80"), r#""\ud800""#);
    assert_eq!(json_of(b"\x65a\xed\xbf\xbf\""), r#""a\udfff\"""#);
    assert_eq!(json_of(b"\xa1\x63\xed\xa0\x80\x01"), r#"{"\ud800":1}"#);
    assert!(cbor_to_json(b"\x62\xed\xa0").is_err());
    assert!(cbor_to_json(b"\x63\xed\xa0A").is_err());
}

#[test]
fn cbor_that_is_not_one_item_is_refused() {
    for item in [b"".as_slice(), b"\x01\x01", b"\x81", b"\x61\xff", b"\xff"] {
        assert!(cbor_to_json(item).is_err(), "{item:x?}");
    }
    let mut deep = vec![0x81; DEPTH_MAX + 1];
    deep.push(0x00);
    assert!(cbor_to_json(&deep).is_err());
    assert!(cbor_to_json(&deep[1..]).is_ok());
}

#[test]
fn a_tree_too_deep_for_cbor_is_cut() {
    let mut tree = json!(1);
    for _ in 0..DEPTH_MAX + 5 {
        tree = json!([tree]);
    }
    let item = from_value(&tree);
    assert_eq!(cbor::check(&item), Ok(()));
    assert_eq!(item[item.len() - 1], 0xf6);
}

/// Trees that survive a way through JavaScript numbers.
fn tree() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        (-(1i64 << 53) + 1..1 << 53).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 96, 40, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..40).prop_map(Value::from),
            prop::collection::btree_map(any::<String>(), inner, 0..40)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn a_tree_survives_cbor(tree in tree()) {
        let direct = json_to_cbor(tree.to_string().as_bytes()).unwrap();
        prop_assert_eq!(cbor::check(&direct), Ok(()));
        prop_assert_eq!(&to_value(&direct).unwrap(), &tree);
        prop_assert_eq!(from_value(&tree), direct);
    }

    #[test]
    fn floats_survive_cbor(value: f64) {
        let item = from_value(&json!(value));
        let back: f64 = serde_json::from_slice::<Option<f64>>(&cbor_to_json(&item).unwrap())
            .unwrap()
            .unwrap_or(f64::NAN);
        prop_assert!(back == value || !value.is_finite());
    }

    #[test]
    fn an_independent_decoder_reads_the_same(tree in tree()) {
        let item = from_value(&tree);
        let decoded: ciborium::Value = ciborium::from_reader(&item[..]).unwrap();
        let mut again = Vec::new();
        ciborium::into_writer(&decoded, &mut again).unwrap();
        prop_assert_eq!(to_value(&again).unwrap(), tree);
    }

    #[test]
    fn whatever_converts_is_valid_json(bytes: Vec<u8>) {
        if let Ok(text) = cbor_to_json(&bytes) {
            prop_assert!(serde_json::from_slice::<serde::de::IgnoredAny>(&text).is_ok());
            prop_assert_eq!(cbor::check(&bytes), Ok(()));
        }
    }

    #[test]
    fn arbitrary_text_never_panics(text: Vec<u8>) {
        let _ = json_to_cbor(&text);
    }
}

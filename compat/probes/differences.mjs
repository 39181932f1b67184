// Where our answers differ from the recorded ones on purpose, and why. A probe that
// is not listed here has to answer what the genuine addon and its engine answered.

const JOURNAL = {
  answer: () => [{ journal_mode: "wal" }],
  reason: "each actor has an SQLite file of its own, and commits go through its write-ahead log",
};

/** By encoding and probe: our answer, made from the recorded one, and the reason. */
export const DIFFERENCES = {
  bare: { db_pragma: JOURNAL },
  json: {
    db_pragma: JOURNAL,
    types: {
      answer: () => ({
        d: '[object String] "1970-01-01T00:00:00.000Z"',
        m: '[object Object] {"1":2}',
        s: "[object Set] 1",
        b: "[object BigInt] 10",
        u: "[object Undefined] undefined",
        n: "[object Null] null",
        u8: '[object Uint8Array] {"0":1,"1":2}',
        ab: "[object ArrayBuffer] {}",
        nan: "[object Null] null",
        inf: "[object Null] null",
        nested: "[object Array] [null,1]",
      }),
      reason: "an object of many types arrives as far as JSON holds its parts, instead of becoming null",
    },
    echo: {
      answer: (recorded) =>
        recorded.map((each) => (each === "[object BigInt] 1099511627776" ? "[object Number] 1099511627776" : each)),
      reason: "a large whole number stays a number instead of becoming a BigInt",
    },
  },
};

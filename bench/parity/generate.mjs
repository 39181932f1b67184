// Statements from a seed: the same seed gives the same ones. They are meant to be
// diverse, not sensible; about one in seven is wrong in some way.

/** Numbers from a seed, evenly in [0, 1). */
function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

export const SETUP = [
  "create table plain (a, b integer, c text, d real, e blob, f numeric)",
  "create table strict_one (id integer primary key, n int not null, t text default 'none', r real, b blob, x any) strict",
  "create table keyed (k text primary key collate nocase, v integer check (v is null or v < 1000), w text unique) without rowid",
  "create table child (id integer primary key autoincrement, parent text references keyed (k) on delete cascade, at text default 'now', twice as (id * 2) stored, upper_at as (upper(at)))",
  "create table words (w text collate rtrim, n integer)",
  "create virtual table docs using fts5 (title, body)",
  "create index plain_b on plain (b desc, c)",
  "create unique index words_n on words (n) where n > 500",
  "create view totals as select b, count(*) as n, sum(f) as total from plain group by b",
  "create trigger log_words after delete on words begin insert into plain (a, c) values ('deleted', old.w); end",
];

/** Every table with the type and the exact text of each cell. */
export const DUMPS = [
  dump("plain", ["a", "b", "c", "d", "e", "f"]),
  dump("strict_one", ["id", "n", "t", "r", "b", "x"]),
  dump("keyed", ["k", "v", "w"]),
  dump("child", ["id", "parent", "at", "twice", "upper_at"]),
  dump("words", ["w", "n"]),
  "select rowid, title, body from docs order by rowid",
  "select b, n, total from totals order by b",
];

/** Reals only as they are: later versions of SQLite write other digits of them. */
function dump(table, columns) {
  const cells = columns.flatMap((name) => [
    `case typeof(${name}) when 'real' then '' else quote(${name}) end as q_${name}`,
    `typeof(${name}) as t_${name}`,
    `${name} as v_${name}`,
  ]);
  const order = columns.map((name) => `typeof(${name}), ${name} collate binary`).join(", ");
  return `select ${cells.join(", ")} from ${table} order by ${order}`;
}

export function* statements(seed, count) {
  const next = random(seed);
  const below = (limit) => Math.floor(next() * limit);
  const pick = (list) => list[below(list.length)];
  const tools = {
    next,
    below,
    pick,
    value: () => value(tools),
    literal: () => literal(tools),
    expression: (depth) => expression(tools, depth),
  };
  for (let made = 0; made < count; made++) yield pick(KINDS)(tools);
}

const TEXTS = [
  "",
  "a",
  "A",
  "abc",
  "ABC ",
  " abc",
  "12",
  "12.50",
  "1e3",
  "0x1F",
  "ünï",
  "日本",
  "it's",
  "%",
  "_",
  "null",
  "a\0b",
  "9223372036854775808",
];
const INTEGERS = [
  0n,
  1n,
  -1n,
  7n,
  499n,
  501n,
  1000n,
  2n ** 31n,
  -(2n ** 31n) - 1n,
  2n ** 53n,
  -(2n ** 53n) - 1n,
  2n ** 63n - 1n,
  -(2n ** 63n),
];
const REALS = [0.5, -0.5, 1.25, 1e-9, 1e18 + 0.5, 1.5e300, -1.5e-300, 2.75, Number.POSITIVE_INFINITY, Number.NaN];

/** A value to bind: integers as bigints, so that both sides bind integers. */
function value({ below, pick }) {
  switch (below(6)) {
    case 0:
      return null;
    case 1:
      return pick(INTEGERS);
    case 2:
      return BigInt(below(1200));
    case 3:
      return pick(REALS);
    case 4:
      return pick(TEXTS);
    default:
      return Uint8Array.from({ length: below(5) }, () => below(256));
  }
}

function literal({ below, pick }) {
  switch (below(6)) {
    case 0:
      return "null";
    case 1:
      return String(below(1200) - 100);
    case 2:
      return pick(["1.5", "-0.25", "1e3", "9e999", "0x10", "9223372036854775807"]);
    case 3:
      return `'${pick(TEXTS.filter((text) => !text.includes("\0"))).replaceAll("'", "''")}'`;
    case 4:
      return pick(["x''", "x'00ff'", "x'616263'"]);
    default:
      return String(below(10));
  }
}

const COLUMNS = ["a", "b", "c", "d", "e", "f"];
const OPERATORS = [
  "+",
  "-",
  "*",
  "/",
  "%",
  "||",
  "=",
  "<>",
  "<",
  ">=",
  "is",
  "is not",
  "and",
  "or",
  "&",
  "|",
  "<<",
  ">>",
  "->>",
];
const FUNCTIONS = [
  "abs",
  "length",
  "upper",
  "lower",
  "typeof",
  "quote",
  "hex",
  "trim",
  "ltrim",
  "unicode",
  "round",
  "ceil",
  "sqrt",
  "sign",
  "json_valid",
  "json_quote",
  "date",
  "julianday",
  "octet_length",
  "soundex",
  "likely",
];
const PAIRS = [
  "ifnull",
  "nullif",
  "instr",
  "max",
  "min",
  "round",
  "substr",
  "like",
  "glob",
  "trim",
  "printf",
  "pow",
  "mod",
  "json_array",
  "strftime",
];

function expression(tools, depth) {
  const { below, pick, literal } = tools;
  const inner = () => expression(tools, depth - 1);
  if (depth <= 0) return below(2) === 0 ? pick(COLUMNS) : literal();
  switch (below(9)) {
    case 0:
      return `(${inner()} ${pick(OPERATORS)} ${inner()})`;
    case 1:
      return `${pick(FUNCTIONS)}(${inner()})`;
    case 2: {
      const [name, left, right] = [pick(PAIRS), inner(), inner()];
      // Versions of SQLite differ in what a place at the end of all integers is.
      return name === "substr" ? `substr(${left}, ${right} % 97)` : `${name}(${left}, ${right})`;
    }
    case 3:
      return `cast(${inner()} as ${pick(["integer", "text", "real", "blob", "numeric"])})`;
    case 4:
      return `case when ${inner()} then ${inner()} else ${inner()} end`;
    case 5:
      return `(${inner()} ${pick(["in", "not in"])} (${literal()}, ${inner()}))`;
    case 6:
      return `(${inner()} between ${literal()} and ${literal()})`;
    case 7:
      return `(${pick(["-", "+", "not ", "~"])}${inner()})`;
    default:
      return `(${inner()} collate ${pick(["nocase", "binary", "rtrim"])})`;
  }
}

const CONFLICT = ["", "", "or ignore", "or replace", "or abort", "or fail"];
const run = (sql, ...params) => ({ sql, params });

const KINDS = [
  ({ value }) =>
    run("insert into plain values (?, ?, ?, ?, ?, ?)", value(), value(), value(), value(), value(), value()),
  ({ value, pick }) =>
    run(
      `insert ${pick(CONFLICT)} into strict_one (id, n, r, b, x) values (?, ?, ?, ?, ?)`,
      value(),
      value(),
      value(),
      value(),
      value(),
    ),
  ({ value, pick }) => run(`insert ${pick(CONFLICT)} into keyed values (?, ?, ?)`, value(), value(), value()),
  ({ value }) =>
    run(
      "insert into keyed values (?, ?, ?) on conflict (k) do update set v = coalesce(v, 0) + 1 where v < 900",
      value(),
      value(),
      value(),
    ),
  ({ value }) =>
    run("insert into keyed (k, w) values (?, ?) on conflict do nothing returning k, typeof(w) as t", value(), value()),
  ({ value }) => run("insert into child (parent) values (?) returning id, twice, upper_at", value()),
  ({ value, pick }) =>
    run(`insert ${pick(CONFLICT)} into words values (?, ?), (?, ?)`, value(), value(), value(), value()),
  ({ pick }) => run("insert into docs values (?, ?)", pick(TEXTS), pick(TEXTS)),
  ({ pick, value, expression }) => run(`update plain set ${pick(COLUMNS)} = ? where ${expression(2)}`, value()),
  ({ pick, expression }) => run(`update plain set ${pick(COLUMNS)} = ${expression(2)} where rowid % 7 = 3`),
  ({ value }) => run("update keyed set v = ?, w = ? where k = ?", value(), value(), value()),
  ({ value, below }) => run("update words set n = ? where rowid = ?", value(), BigInt(below(30))),
  ({ below }) => run("delete from plain where rowid = ? returning quote(a) as a, quote(f) as f", BigInt(below(100))),
  ({ below }) => run("delete from words where rowid = ?", BigInt(below(60))),
  ({ value }) => run("delete from keyed where k = ?", value()),
  ({ value }) => run("delete from child where parent is ?", value()),
  ({ expression, pick }) =>
    run(
      `select ${expression(3)} as x, typeof(${expression(1)}) as y from plain order by ${pick(COLUMNS)}, rowid limit 20`,
    ),
  ({ expression }) => run(`select ${expression(3)} as x from plain where ${expression(2)} order by rowid`),
  ({ expression, pick }) =>
    run(
      `select ${pick(COLUMNS)} as g, count(*) as n, min(c) as lo, max(a) as hi, total(f) as t from plain group by 1 having ${expression(1)} order by typeof(g), g collate binary`,
    ),
  ({ pick }) =>
    run(
      `select b, row_number() over w as r, lag(c) over w as l, sum(b > 5) over (partition by typeof(${pick(COLUMNS)}) order by rowid rows 2 preceding) as s from plain window w as (order by d, rowid) order by r`,
    ),
  ({ value, pick }) => run(`select ? ${pick(OPERATORS)} ? as x, typeof(?) as t`, value(), value(), value()),
  ({ value }) =>
    run(
      "select ? as v, quote(?) as q, cast(? as text) as t, cast(? as integer) as i",
      value(),
      value(),
      value(),
      value(),
    ),
  ({ pick, literal }) =>
    run(
      `select * from (select ${literal()} as x union ${pick(["", "all"])} select ${literal()} union select ${literal()}) order by typeof(x), x collate binary`,
    ),
  ({ below }) =>
    run(
      `with recursive n (i) as (select 1 union all select i * 2 from n where i < ?) select group_concat(i, '-') as x from n`,
      BigInt(below(5000)),
    ),
  ({ value }) =>
    run(
      "select json_group_array(json_object('a', a, 'b', b)) as j from (select a, b from plain where typeof(a) <> 'blob' and typeof(b) <> 'blob' order by rowid limit 5) where ? is not null",
      value(),
    ),
  ({ pick }) =>
    run(
      "select rowid, title, highlight(docs, 0, '<', '>') as h from docs where docs match ? order by rowid",
      pick(["a", "abc", '"abc"', "a OR abc", "abc NOT a", "AND", "it's", "", "*"]),
    ),
  ({ value }) => run("select k, v, w from keyed where k > ? order by k", value()),
  ({ value }) =>
    run(
      "select c.id, c.parent, k.v from child c left join keyed k on k.k = c.parent where c.id > ? order by c.id",
      value(),
    ),
  ({ pick }) =>
    run(
      pick([
        "select * from nope",
        "selec 1",
        "select nope from plain",
        "insert into plain values (1)",
        "select 1 +",
        "select abs()",
        "select count(*) from plain where sum(a) > 1",
        "create table plain (a)",
        "drop table nope",
        "select 'x",
        "insert into child (id, twice) values (1, 2)",
        "update totals set n = 1",
        "select * from plain order by 99",
        "select json('{')",
        "select abs(-9223372036854775808)",
        "select printf('%d', 1, ",
        "alter table plain drop column nope",
        "select zeroblob(9999999999)",
        "insert into docs (docs) values ('nonsense')",
        "select nosuch(1)",
      ]),
    ),
  ({ pick }) => run(pick(["savepoint s1", "release s1", "rollback to s1"])),
];

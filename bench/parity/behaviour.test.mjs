// The behaviours that SQLite's documentation sets down in tables and examples, in an
// actor and in better-sqlite3: the same rows with the same types, and those that the
// documentation gives.

import assert from "node:assert/strict";
import test from "node:test";
import { inActor, reference } from "./sides.mjs";

/** Statements in turn, each with the rows it gives; without rows where it gives none. */
const BEHAVIOURS = {
  "affinity of columns by their declared types": [
    "create table t1 (t text, nu numeric, i integer, r real, no blob)",
    "insert into t1 values ('500.0', '500.0', '500.0', '500.0', '500.0')",
    [
      "select typeof(t), typeof(nu), typeof(i), typeof(r), typeof(no) from t1",
      [["text", "integer", "integer", "real", "text"]],
    ],
    "delete from t1",
    "insert into t1 values (500.0, 500.0, 500.0, 500.0, 500.0)",
    [
      "select typeof(t), typeof(nu), typeof(i), typeof(r), typeof(no) from t1",
      [["text", "integer", "integer", "real", "real"]],
    ],
    "delete from t1",
    "insert into t1 values (500, 500, 500, 500, 500)",
    [
      "select typeof(t), typeof(nu), typeof(i), typeof(r), typeof(no) from t1",
      [["text", "integer", "integer", "real", "integer"]],
    ],
    "delete from t1",
    "insert into t1 values (x'0500', x'0500', x'0500', x'0500', x'0500')",
    [
      "select typeof(t), typeof(nu), typeof(i), typeof(r), typeof(no) from t1",
      [["blob", "blob", "blob", "blob", "blob"]],
    ],
    "delete from t1",
    "insert into t1 values (null, null, null, null, null)",
    [
      "select typeof(t), typeof(nu), typeof(i), typeof(r), typeof(no) from t1",
      [["null", "null", "null", "null", "null"]],
    ],
    "create table named (a charint, b varchar(9), c clob, d floating point, e doub, f decimal(10,5), g string, h boolean, i)",
    "insert into named values ('7', 7, 7, '7', '7', '7', '7', '7', '7')",
    [
      "select typeof(a), typeof(b), typeof(c), typeof(d), typeof(e), typeof(f), typeof(g), typeof(h), typeof(i) from named",
      // FLOATING POINT holds "INT", which comes first.
      [["integer", "text", "text", "integer", "real", "integer", "integer", "integer", "text"]],
    ],
  ],
  "affinity in comparisons": [
    "create table t1 (a text, b numeric, c blob, d)",
    "insert into t1 values ('500', '500', '500', 500)",
    ["select a < 40, a < 60, a < 600 from t1", [[0, 1, 1]]],
    ["select a < '40', a < '60', a < '600' from t1", [[0, 1, 1]]],
    ["select b < 40, b < 60, b < 600 from t1", [[0, 0, 1]]],
    ["select b < '40', b < '60', b < '600' from t1", [[0, 0, 1]]],
    ["select c < 40, c < 60, c < 600 from t1", [[0, 0, 0]]],
    ["select c < '40', c < '60', c < '600' from t1", [[0, 1, 1]]],
    ["select d < 40, d < 60, d < 600 from t1", [[0, 0, 1]]],
    ["select d < '40', d < '60', d < '600' from t1", [[1, 1, 1]]],
    ["select null = null, null is null, 1 < null, x'61' > 'z', 'a' > 1e9", [[null, 1, null, 1, 1]]],
  ],
  "numbers at their ends": [
    ["select 9223372036854775807 + 1, typeof(9223372036854775807 + 1)", [[2 ** 63, "real"]]],
    ["select -9223372036854775808, typeof(9223372036854775808)", [[-(2n ** 63n), "real"]]],
    [
      "select 5 / 2, -5 / 2, 5 % -3, 5 / 0, 5.0 / 2, 1 << 63, 1 << 64, 1 << -1",
      [[2, -2, 2, null, 2.5, -(2n ** 63n), 0, 0]],
    ],
    [
      "select cast('12abc' as integer), cast('0x10' as integer), 0x10, cast(-5.9 as integer), cast(1e30 as integer)",
      [[12, 0, 16, -5, 2n ** 63n - 1n]],
    ],
    ["select cast('abc' as real), cast(x'3132' as integer), '3' + '4', '3' || 4", [[0, 12, 7, "34"]]],
  ],
  "collation of comparisons, orders and groups": [
    "create table t1 (x integer primary key, a, b collate binary, c collate rtrim, d collate nocase)",
    "insert into t1 values (1, 'abc', 'abc', 'abc  ', 'abc')",
    "insert into t1 values (2, 'abc', 'abc', 'abc', 'ABC')",
    "insert into t1 values (3, 'abc', 'abc', 'abc ', 'Abc')",
    "insert into t1 values (4, 'abc', 'abc ', 'ABC', 'abc')",
    ["select x from t1 where a = b order by x", [[1], [2], [3]]],
    ["select x from t1 where a = b collate rtrim order by x", [[1], [2], [3], [4]]],
    ["select x from t1 where d = a order by x", [[1], [2], [3], [4]]],
    ["select x from t1 where a = d order by x", [[1], [4]]],
    ["select x from t1 where 'abc' = c order by x", [[1], [2], [3]]],
    ["select x from t1 where c = 'abc' order by x", [[1], [2], [3]]],
    ["select count(*) from t1 group by d order by 1", [[4]]],
    ["select count(*) from t1 group by (d || '') order by 1", [[1], [1], [2]]],
    ["select x from t1 order by c, x", [[4], [1], [2], [3]]],
    ["select x from t1 order by (c || ''), x", [[4], [2], [3], [1]]],
    ["select x from t1 order by c collate nocase, x", [[2], [4], [3], [1]]],
  ],
  upserts: [
    "create table vocabulary (word text primary key, count int default 1)",
    "insert into vocabulary (word) values ('jovial') on conflict (word) do update set count = count + 1",
    "insert into vocabulary (word) values ('jovial') on conflict (word) do update set count = count + 1",
    ["select * from vocabulary", [["jovial", 2]]],
    "create table phonebook (name text primary key, number text, valid date)",
    "insert into phonebook values ('Alice', '1', '2018-01-01')",
    "insert into phonebook values ('Alice', '2', '2017-01-01') on conflict (name) do update set number = excluded.number, valid = excluded.valid where excluded.valid > phonebook.valid",
    ["select number from phonebook", [["1"]]],
    "insert into phonebook values ('Alice', '3', '2019-01-01') on conflict (name) do update set number = excluded.number, valid = excluded.valid where excluded.valid > phonebook.valid",
    ["select number from phonebook", [["3"]]],
    "create table two (a unique, b unique, c default 0)",
    "insert into two values (1, 1, 0), (2, 2, 0)",
    "insert into two values (1, 2, 9) on conflict (b) do update set c = 5 on conflict (a) do update set c = 6",
    "insert into two values (3, 1, 9) on conflict do nothing",
    ["select a, b, c from two order by a", undefined],
  ],
  returning: [
    "create table t0 (a integer primary key, b date, c integer)",
    [
      "insert into t0 (b, c) values ('x', random() is null), ('y', 2) returning a, b, c",
      [
        [1, "x", 0],
        [2, "y", 2],
      ],
    ],
    ["update t0 set c = c + 1 where a = 2 returning a as id, c, c * 2 as twice", [[2, 3, 6]]],
    [
      "delete from t0 returning *",
      [
        [1, "x", 0],
        [2, "y", 3],
      ],
    ],
    ["delete from t0 returning *", []],
  ],
  "generated columns": [
    "create table t1 (a integer primary key, b int, c text, d int generated always as (a * abs(b)) virtual, e text generated always as (substr(c, b, b + 1)) stored)",
    "insert into t1 (a, b, c) values (3, 2, 'abcdef'), (4, -2, 'xyz')",
    ["select d, e, typeof(d), typeof(e) from t1", undefined],
    "insert into t1 (a, d) values (1, 1)",
    "alter table t1 add column f as (d + 1)",
    ["select f from t1 order by a", [[7], [9]]],
    "alter table t1 add column g as (d + 1) stored",
    "create index by_d on t1 (d)",
    ["select a from t1 where d = 8", [[4]]],
  ],
  JSON: [
    [
      `select json_extract('{"a":2,"c":[4,5,{"f":7}]}', '$.c[2].f'), '{"a":"x"}' -> 'a', '{"a":"x"}' ->> 'a'`,
      [[7, '"x"', "x"]],
    ],
    [
      `select json_extract('{"a":2,"c":[4,5],"f":7}', '$.c', '$.a'), json_extract('{"a":2}', '$.x')`,
      [["[[4,5],2]", null]],
    ],
    [
      `select json_insert('{"a":2}', '$.a', 99), json_replace('{"a":2}', '$.a', 99), json_set('{"a":2}', '$.e', json('[1]')), json_remove('[0,1,2]', '$[2]', '$[0]')`,
      [['{"a":2}', '{"a":99}', '{"a":2,"e":[1]}', "[1]"]],
    ],
    [
      `select json_patch('{"a":[1,2],"b":2}', '{"a":9,"b":null,"c":8}'), json_type('{"a":[2,3.5,true]}', '$.a[1]'), json_valid('{x:1}'), json_quote(3.5)`,
      [['{"a":9,"c":8}', "real", 0, "3.5"]],
    ],
    [`select key, value, type, fullkey from json_tree('{"a":[1,null]}') where atom is null`, undefined],
    [`select json_group_object(key, value) from json_each('{"x":1,"y":"z"}')`, [['{"x":1,"y":"z"}']]],
    ["select json('{')"],
  ],
  "full-text search": [
    "create virtual table email using fts5(sender, title, body, tokenize = 'porter unicode61')",
    "insert into email values ('a', 'first post', 'one two three'), ('b', 'second', 'two posts of three words'), ('c', 'Größe', 'zwei')",
    ["select sender from email where email match 'post' order by rowid", [["a"], ["b"]]],
    ["select sender from email where email match 'title: post' order by rowid", [["a"]]],
    ["select sender from email where email match '\"two three\"'", [["a"]]],
    ["select sender from email where email match 'tw* NOT first' order by rowid", [["b"]]],
    ["select sender from email where email match 'NEAR(two three, 2)' order by rowid", undefined],
    [
      "select highlight(email, 2, '[', ']'), snippet(email, 2, '<', '>', '..', 2) from email where email match 'three' order by rowid",
      undefined,
    ],
    ["select sender from email where email match 'grosse or größe' order by rank", undefined],
    ["select sender from email where email match 'AND'"],
  ],
  "window functions": [
    "create table t1 (a integer primary key, b, c)",
    "insert into t1 values (1, 'A', 'one'), (2, 'B', 'two'), (3, 'C', 'three'), (4, 'D', 'one'), (5, 'E', 'two'), (6, 'F', 'three'), (7, 'G', 'one')",
    [
      "select a, group_concat(b, '.') over (order by a rows between 1 preceding and 1 following) from t1",
      [
        [1, "A.B"],
        [2, "A.B.C"],
        [3, "B.C.D"],
        [4, "C.D.E"],
        [5, "D.E.F"],
        [6, "E.F.G"],
        [7, "F.G"],
      ],
    ],
    [
      "select c, a, group_concat(b, '.') over (partition by c order by a range between current row and unbounded following) from t1 order by c, a",
      [
        ["one", 1, "A.D.G"],
        ["one", 4, "D.G"],
        ["one", 7, "G"],
        ["three", 3, "C.F"],
        ["three", 6, "F"],
        ["two", 2, "B.E"],
        ["two", 5, "E"],
      ],
    ],
    [
      "select a, group_concat(b, '.') over (order by c groups between unbounded preceding and current row exclude ties) from t1 order by c, a",
      undefined,
    ],
    [
      "select row_number() over w, rank() over w, dense_rank() over w, percent_rank() over w, ntile(3) over w, lag(a, 1, 0) over w, first_value(b) over w, nth_value(b, 2) over w from t1 window w as (order by c) order by c, a",
      undefined,
    ],
    ["select c, count(*) filter (where a > 2) over (partition by c) from t1 order by a", undefined],
    ["select row_number() from t1"],
  ],
  "conflicts and constraints": [
    "create table t1 (a primary key, b not null default 7, c check (c < 10))",
    "insert into t1 values (1, 1, 1)",
    "insert into t1 values (1, 2, 2)",
    "insert or replace into t1 values (1, null, 3)",
    ["select * from t1", [[1, 7, 3]]],
    "insert or ignore into t1 values (2, 2, 20), (3, null, 3), (1, 9, 9)",
    ["select * from t1 order by a", [[1, 7, 3]]],
    "insert or fail into t1 values (5, 5, 5), (1, 1, 1), (6, 6, 6)",
    ["select a from t1 order by a", [[1], [5]]],
    "insert or abort into t1 values (7, 7, 7), (1, 1, 1)",
    ["select a from t1 order by a", [[1], [5]]],
    "create table strict_one (a int, b text, c any) strict",
    "insert into strict_one values ('5', 6, '7')",
    ["select typeof(a), typeof(b), typeof(c) from strict_one", [["integer", "text", "text"]]],
    "insert into strict_one values ('x', 'y', 'z')",
  ],
};

for (const [title, steps] of Object.entries(BEHAVIOURS)) {
  test(title, async () => {
    const theirs = reference();
    try {
      await inActor(async (run) => {
        for (const step of steps) {
          const [sql, documented] = Array.isArray(step) ? step : [step];
          const statement = { sql, params: [] };
          const [expected, actual] = [theirs.run(statement), await run(statement)];
          assert.deepEqual(outcome(actual), outcome(expected), sql);
          if (documented !== undefined) assert.deepEqual(actual.rows, documented, sql);
        }
      });
    } finally {
      theirs.close();
    }
  });
}

/** Without counts, which statements that count nothing leave from earlier ones. */
const outcome = ({ code, message, columns, rows }) => (code === undefined ? { columns, rows } : { code, message });

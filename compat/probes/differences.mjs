// Where our answers differ from the recorded ones on purpose, and why. A probe that
// is not listed here has to answer what the genuine addon and its engine answered.

import { onEngine } from "../lib/host.mjs";

const INTERNAL = "An internal error occurred";

const JOURNAL = {
  answer: () => [{ journal_mode: "wal" }],
  reason: "each actor has an SQLite file of its own, and commits go through its write-ahead log",
};

const JOURNAL_IN_MEMORY = {
  answer: () => [{ journal_mode: "memory" }],
  reason: "what a commit replaces on an engine waits in memory",
};

const SANE_ID = {
  answer: () => ({ error: ["actor", "not_found", "The actor does not exist or was destroyed.", null] }),
  reason: "an id that no actor can have is not found, instead of an internal error",
};

const HIDDEN = {
  answer: (recorded) =>
    recorded.map(({ error }) => ({ error: error.map((part) => (part === "plain" ? INTERNAL : part)) })),
  reason: "what a hook throws that is no UserError is hidden on a WebSocket as it is over HTTP",
};

const NAMED_PARAMS = {
  answer: (recorded) =>
    recorded.map((each, at) =>
      at === 10 ? { ...each, body: { ...each.body, group: "actor", code: "invalid_request" } } : each,
    ),
  reason: "parameters that are no JSON are called so, instead of an internal error",
};

const NAMED_PARAMS_AND_HOST = {
  answer: (recorded) =>
    NAMED_PARAMS.answer(recorded).map((each, at) =>
      at === 7 ? { ...each, body: { ...each.body, type: "deployed" } } : each,
    ),
  reason: `${NAMED_PARAMS.reason}, and who joined an engine is deployed, whatever NODE_ENV says`,
};

const UNKNOWN_ACTOR = {
  answer: ({ ct }) => ({
    status: 404,
    ct,
    body: { group: "actor", code: "not_found", message: "The actor does not exist or was destroyed." },
  }),
  reason: "an actor that nobody defines is not found at once, instead of after eight starts",
};

const CAUSE = {
  answer: (recorded) => {
    const { body } = recorded;
    const error = { group: "rivetkit", code: "internal_error", message: INTERNAL };
    return { ...recorded, body: { ...body, metadata: { ...body.metadata, error } } };
  },
  reason: "a start that failed for good says why",
};

const EMBEDDED = {
  db_pragma: JOURNAL,
  forIdMissing: SANE_ID,
  reject: HIDDEN,
  gwAction: NAMED_PARAMS,
  gwUnknownActor: UNKNOWN_ACTOR,
  gwBadCreate: CAUSE,
};

/** What else the engine itself answers, and so as it was recorded. */
const ENGINE = {
  db_pragma: JOURNAL_IN_MEMORY,
  reject: HIDDEN,
  gwAction: NAMED_PARAMS_AND_HOST,
};

const EVERYWHERE = onEngine ? ENGINE : EMBEDDED;

/** By encoding and probe: our answer, made from the recorded one, and the reason. */
export const DIFFERENCES = {
  bare: EVERYWHERE,
  json: {
    ...EVERYWHERE,
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
    sched: {
      answer: () => [
        "string",
        [{ id: "string", action: "fire", args: ["x"], runAt: "number" }],
        "undef",
        ["x", "past"].map((arg) => [arg, ["firedAt", "id", "kind", "name", "scheduledAt"]]),
      ],
      reason: "a time in milliseconds stays a number, which `schedule.at` wants, instead of becoming a BigInt",
    },
  },
};

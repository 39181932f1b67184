// A chat room: who is there, what was said, and everybody who listens.

import { actor, db, event, setup, UserError } from "greenroom";

const NAME_MAX = 40;
const TEXT_MAX = 2_000;
const HISTORY = 100;

export const room = actor({
  createConnState: (_c, params) => {
    const name = String(params?.name ?? "").trim();
    if (name === "" || name.length > NAME_MAX) {
      throw new UserError(`A name has 1 to ${NAME_MAX} characters`, { code: "bad_name" });
    }
    return { name };
  },
  events: { said: event(), present: event() },
  db: db({
    onMigrate: (sql) =>
      sql.execute(
        "create table if not exists message (id integer primary key, author text not null, text text not null, at integer not null)",
      ),
  }),
  // Counted anew each time: a process that was killed said no goodbye to anybody.
  onConnect: (c) => c.broadcast("present", present(c)),
  onDisconnect: (c) => c.broadcast("present", present(c)),
  actions: {
    /** Answers when the message is on disk. */
    say: async (c, text) => {
      if (typeof text !== "string" || text.trim() === "" || text.length > TEXT_MAX) {
        throw new UserError(`A message has 1 to ${TEXT_MAX} characters`, { code: "bad_text" });
      }
      const message = { author: c.conn.state.name, text, at: Date.now() };
      const { author, at } = message;
      const { lastInsertRowId } = await c.db.run`
        insert into message (author, text, at) values (${author}, ${text}, ${at})`;
      c.broadcast("said", { id: lastInsertRowId, ...message });
    },

    /** What was said last, oldest first. */
    history: async (c) => {
      const last = await c.db.query`select id, author, text, at from message order by id desc limit ${HISTORY}`;
      return last.reverse();
    },

    present,
  },
});

function present(c) {
  return [...new Set([...c.conns.values()].map((conn) => conn.state.name))].sort();
}

export const registry = setup({ use: { room } });

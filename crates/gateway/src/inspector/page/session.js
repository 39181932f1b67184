// The inspector's socket in version 6 of its protocol: requests with numbers, their
// answers, and news. Knows nothing of the page.

const REQUESTS = { patchState: 0, action: 3, queue: 6, schema: 9, rows: 10, deleteSchedule: 13 };

const connection = (from) => ({ id: from.str(), ...from.value() });
const schedule = (from) => ({
  id: from.str(),
  name: from.optional((it) => it.str()),
  kind: from.str(),
  action: from.str(),
  args: from.value(),
  nextRunAt: new Date(from.uint()),
  lastRunAt: from.optional((it) => new Date(it.uint())),
  expression: from.optional((it) => it.str()),
  timezone: from.optional((it) => it.str()),
  intervalMs: from.optional((it) => it.uint()),
  maxHistory: from.optional((it) => it.uint()),
});
const message = (from) => ({ id: from.uint(), name: from.str(), createdAt: new Date(from.uint()) });
const tab = (from) => ({
  id: from.str(),
  label: from.optional((it) => it.str()),
  icon: from.optional((it) => it.str()),
  hidden: from.bool(),
});

const init = (from) => ({
  connections: from.list(connection),
  state: from.optional((it) => it.value()),
  isStateEnabled: from.bool(),
  actions: from.list((it) => it.str()),
  isDatabaseEnabled: from.bool(),
  queueSize: from.uint(),
  history: from.optional((it) => it.data()),
  isWorkflowEnabled: from.bool(),
  tabs: from.list(tab),
  schedules: from.list(schedule),
});

/** What the page looks at, by the number of the message. */
const NEWS = {
  3: (from) => ({ connections: from.list(connection) }),
  4: (from) => ({ queueSize: from.uint() }),
  5: (from) => ({ state: from.value() }),
  7: (from) => ({ schedules: from.list(schedule) }),
  17: init,
};
const ANSWERS = {
  2: (from) => from.value(),
  10: (from) => ({
    size: from.uint(),
    maxSize: from.uint(),
    messages: from.list(message),
    truncated: from.bool(),
  }),
  15: (from) => ({ id: from.str(), deleted: from.bool() }),
  18: (from) => from.value(),
  19: (from) => from.value(),
};
const ERROR = 16;

class Session {
  /** `heard` gets what changed, `failed` the text of an error, `ended` how the socket closed. */
  constructor(url, token, { heard, failed, ended }) {
    this.number = 0;
    this.waiting = new Map();
    this.failed = failed;
    this.socket = new WebSocket(url, ["rivet", "rivet_encoding.bare", `rivet_inspector_token.${token}`]);
    this.socket.binaryType = "arraybuffer";
    this.socket.onmessage = ({ data }) => {
      try {
        this.read(new BareReader(new Uint8Array(data)), heard);
      } catch (error) {
        failed(`a message could not be read: ${error.message}`);
      }
    };
    this.socket.onclose = (event) => {
      this.refuse(new Error("the actor is not connected"));
      ended(event);
    };
  }

  read(from, heard) {
    const tag = from.u8();
    if (tag in NEWS) return heard(NEWS[tag](from));
    if (tag === ERROR) {
      // It does not say which request it is for.
      const text = from.str();
      this.refuse(new Error(text));
      return this.failed(text);
    }
    const id = from.uint();
    const answer = ANSWERS[tag]?.(from);
    this.waiting.get(id)?.resolve(answer);
    this.waiting.delete(id);
  }

  refuse(error) {
    for (const { reject } of this.waiting.values()) reject(error);
    this.waiting.clear();
  }

  ask(request, ...fields) {
    const id = ++this.number;
    this.socket.send(Uint8Array.from([REQUESTS[request], ...uintBytes(id), ...fields.flat()]));
    return new Promise((resolve, reject) => this.waiting.set(id, { resolve, reject }));
  }

  patchState(value) {
    this.socket.send(Uint8Array.from([REQUESTS.patchState, ...dataBytes(cborBytes(value))]));
  }

  close() {
    this.socket.close();
  }
}

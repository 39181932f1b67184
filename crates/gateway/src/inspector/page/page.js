// The page itself: who may look, what is known of the actor, and one view of it at a
// time. Everything from the actor enters the page as text.

const at = (id) => document.getElementById(id);
const query = new URLSearchParams(location.search);
const theme = query.get("theme");
const shellOrigin = query.get("shellOrigin");
const isFramed = window.parent !== window;
const VIEWS = ["state", "connections", "queue", "schedules", "database", "console"];
const CLOSED_UNAUTHORIZED = 1008;
const ROWS = 100;

let session;
let token;
let known = {};
let shown = "state";

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

const asText = (value) =>
  JSON.stringify(
    value,
    (_, each) => {
      if (typeof each === "bigint") return `${each}n`;
      return each instanceof Uint8Array ? `${each.length} bytes: ${each.slice(0, 64).join(" ")}` : each;
    },
    2,
  ) ?? "undefined";
const asCell = (value) =>
  typeof value === "string" ? value : value instanceof Date ? value.toISOString() : asText(value);

function table(rows, columns = Object.keys(rows[0] ?? {})) {
  if (rows.length === 0) return element("p", { textContent: "Nothing here." });
  const line = (cells, name) => element("tr", {}, ...cells.map((cell) => element(name, {}, cell)));
  const body = rows.map((row) =>
    line(
      columns.map((column) => asCell(row[column] ?? "")),
      "td",
    ),
  );
  return element("table", {}, element("thead", {}, line(columns, "th")), element("tbody", {}, ...body));
}

function notice(text) {
  at("notice").hidden = !text;
  at("notice").textContent = text ?? "";
}

/** Runs what a button does; an error is shown. */
const button = (label, work) =>
  element("button", {
    type: "button",
    textContent: label,
    onclick: async () => {
      notice();
      try {
        await work();
      } catch (error) {
        notice(error.message);
      }
    },
  });

const views = {
  state() {
    if (!known.isStateEnabled) return [element("p", { textContent: "This actor has no state." })];
    const text = element("textarea", { value: asText(known.state), ariaLabel: "New state" });
    return [
      element("pre", { id: "now", textContent: asText(known.state) }),
      element(
        "details",
        {},
        element("summary", { textContent: "Change it" }),
        text,
        button("Save", () => session.patchState(JSON.parse(text.value))),
      ),
    ];
  },
  connections: () => [table(known.connections ?? [])],
  queue() {
    const list = element("div", { textContent: "…" });
    session.ask("queue", uintBytes(ROWS)).then(
      ({ messages }) => list.replaceChildren(table(messages)),
      (error) => notice(error.message),
    );
    return [element("p", { textContent: `${known.queueSize} waiting` }), list];
  },
  schedules() {
    const remove = ({ id, kind }) =>
      button("Delete", () => session.ask("deleteSchedule", strBytes(id), strBytes(kind)));
    const columns = ["id", "kind", "action", "args", "nextRunAt", "expression", "intervalMs"];
    return [
      table(known.schedules ?? [], columns),
      ...(known.schedules ?? []).map((each) => element("p", {}, `${each.id} `, remove(each))),
    ];
  },
  database() {
    const [names, rows] = [element("div", { className: "row" }), element("div")];
    const look = async (name, offset = 0) => {
      const found = await session.ask("rows", strBytes(name), uintBytes(ROWS), uintBytes(offset));
      const more = found.length === ROWS ? [button("Further rows", () => look(name, offset + ROWS))] : [];
      rows.replaceChildren(table(found), ...more);
    };
    session.ask("schema").then(
      ({ tables }) => {
        names.append(...tables.map(({ table: { name } }) => button(name, () => look(name))));
      },
      (error) => notice(error.message),
    );
    return [names, rows];
  },
  console() {
    const name = element(
      "select",
      { ariaLabel: "Action" },
      ...(known.actions ?? []).map((each) => element("option", { value: each, textContent: each })),
    );
    const args = element("textarea", { value: "[]", ariaLabel: "Arguments, as a JSON array" });
    const answer = element("pre", { id: "answer" });
    const run = button("Run", async () => {
      const given = JSON.parse(args.value);
      if (!Array.isArray(given)) throw new Error("arguments are a JSON array");
      answer.textContent = asText(await session.ask("action", strBytes(name.value), dataBytes(cborBytes(given))));
    });
    return [element("div", { className: "row" }, name, run), args, answer];
  },
};

function show(view = shown) {
  shown = view;
  for (const tabButton of at("tabs").children) tabButton.ariaSelected = String(tabButton.value === shown);
  if (session) at("view").replaceChildren(...views[shown]());
}

/** The views that the actor type did not hide. */
const visible = () => VIEWS.filter((id) => !known.tabs?.some((each) => each.id === id && each.hidden));

function heard(news) {
  const isFirst = "tabs" in news;
  known = { ...known, ...news };
  if (isFirst) {
    at("status").textContent = "connected";
    at("tabs").hidden = false;
    at("tabs").replaceChildren(
      ...visible().map((id) =>
        element("button", { type: "button", value: id, textContent: id, role: "tab", onclick: () => show(id) }),
      ),
    );
    const custom = known.tabs.filter((each) => each.label !== undefined && !each.hidden);
    const all = [...visible().map((id) => ({ id, label: id })), ...custom.map((each) => ({ ...each, isCustom: true }))];
    tellShell({ type: "tabs-available", tabs: all });
    if (!visible().includes(shown)) shown = visible()[0] ?? "state";
  }
  // What somebody is typing in is left alone.
  const matters = { state: "state", connections: "connections", queueSize: "queue", schedules: "schedules" };
  if (isFirst || Object.keys(news).some((field) => matters[field] === shown)) {
    if (!document.querySelector("#view details[open]")) show();
    else if ("state" in news) at("now").textContent = asText(known.state);
  }
}

function ended({ code, reason }) {
  session = undefined;
  at("status").textContent = `closed: ${reason || code}`;
  at("again").hidden = code === CLOSED_UNAUTHORIZED;
  if (code !== CLOSED_UNAUTHORIZED) return;
  token = undefined;
  if (isFramed) tellShell({ type: "token-refresh-needed" });
  else at("door").hidden = false;
}

function connect() {
  at("door").hidden = true;
  at("again").hidden = true;
  at("status").textContent = "connecting";
  const base = location.pathname.replace(/\/ui(\/[^/]*)?$/, "/connect");
  const url = new URL(`${base}?protocol_version=6`, location.href);
  url.protocol = url.protocol.replace("http", "ws");
  session?.close();
  session = new Session(url, token, { heard, failed: notice, ended });
}

function tellShell(message) {
  if (isFramed) window.parent.postMessage({ v: 1, ...message }, shellOrigin ?? "*");
}

window.addEventListener("message", ({ source, origin, data }) => {
  if (source !== window.parent || !isFramed || data?.v !== 1) return;
  if (shellOrigin && origin !== shellOrigin) return;
  if (data.type === "init" && typeof data.authToken === "string") {
    if (data.theme) document.documentElement.dataset.theme = data.theme;
    if (VIEWS.includes(data.activeTab)) shown = data.activeTab;
    token = data.authToken;
    connect();
  }
  if (data.type === "set-active-tab" && VIEWS.includes(data.tab)) show(data.tab);
});

at("door").addEventListener("submit", (event) => {
  event.preventDefault();
  token = at("token").value.trim();
  at("token").value = "";
  connect();
});
at("again").addEventListener("click", connect);

if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
at("actor").textContent = query.get("actorId") ?? /\/gateway\/([^/@]+)/.exec(location.pathname)?.[1] ?? "";
at("door").hidden = isFramed;
tellShell({ type: "ready" });

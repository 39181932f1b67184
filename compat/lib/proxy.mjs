// A port that stays when the server behind it does not, as a load balancer's does:
// connections that come meanwhile wait. Node's own WebSocket never reports a
// refused connection as closed, so the published client needs one on restarts.

import { once } from "node:events";
import { connect, createServer } from "node:net";

const RETRY_MS = 20;

/**
 * Joins a client to the server that `port()` names. Until that has said a word it
 * may turn out to be the old one, on its way down: then the next one is asked.
 */
function join(client, port) {
  const asked = [];
  const keep = (chunk) => asked.push(chunk);
  client.on("data", keep);
  const attempt = () => {
    if (client.destroyed) return;
    const server = connect(port() ?? 1, "127.0.0.1");
    let answered = false;
    const forward = (chunk) => server.write(chunk);
    const leave = () => server.destroy();
    server.on("connect", () => {
      for (const chunk of asked) server.write(chunk);
      client.on("data", forward);
    });
    server.on("data", (chunk) => {
      answered = true;
      client.off("data", keep);
      client.write(chunk);
    });
    server.on("error", () => {});
    server.on("close", () => {
      client.off("close", leave).off("data", forward);
      if (answered) client.end();
      else setTimeout(attempt, RETRY_MS);
    });
    client.on("close", leave);
  };
  attempt();
}

/** Listens on a free port; `to(url)` says where the server is now. */
export async function startProxy() {
  let port;
  const open = new Set();
  const proxy = createServer((client) => {
    open.add(client);
    client.on("close", () => open.delete(client));
    client.on("error", () => client.destroy());
    join(client, () => port);
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  return {
    url: `http://127.0.0.1:${proxy.address().port}`,
    to(url) {
      port = Number(new URL(url).port);
    },
    close() {
      proxy.close();
      for (const client of open) client.destroy();
    },
  };
}

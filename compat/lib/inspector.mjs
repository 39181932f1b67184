// An inspector's socket, speaking with the codec of the published package.

import { decode } from "cbor-x";
import { decodeToClient, encodeToServer } from "rivetkit/inspector/client";
import { eventually, until } from "./connection.mjs";

/**
 * The token that lets somebody inspect this actor, from where dashboards read it. On an
 * engine it is there a moment after the first start.
 */
export async function inspectorToken(url, id) {
  const read = async () => (await fetch(`${url}/actors/${id}/kv/keys/Aw%3D%3D?namespace=default`)).json();
  const { value } = await until("the inspector token is there", read, (answer) => typeof answer.value === "string");
  return Buffer.from(value, "base64").toString();
}

export const cbor = (bytes) => decode(new Uint8Array(bytes));

/**
 * Opens a socket and gives its messages: `next(tag)` resolves with the next one of
 * this kind, `ask` sends a request, `closed` resolves with code and reason.
 */
export function inspect(url, id, { token, query = "?protocol_version=6" }) {
  const path = `${url.replace("http", "ws")}/gateway/${id}/inspector/connect${query}`;
  const socket = new WebSocket(path, ["rivet", ...(token ? [`rivet_inspector_token.${token}`] : [])]);
  socket.binaryType = "arraybuffer";
  const messages = [];
  const waiting = new Set();
  const take = (tag) => {
    const at = messages.findIndex((body) => body.tag === tag);
    return at < 0 ? undefined : messages.splice(at, 1)[0].val;
  };
  const frames = [];
  socket.onmessage = ({ data }) => {
    frames.push(data);
    if (query === "?protocol_version=6") messages.push(decodeToClient(new Uint8Array(data)).body);
    for (const look of waiting) look();
  };
  const until = (what, found) =>
    eventually(what, (done) => {
      const look = () => {
        const value = found();
        if (value === undefined) return;
        waiting.delete(look);
        done(value);
      };
      waiting.add(look);
      look();
    });
  const closed = eventually("the socket closes", (done) => {
    socket.onclose = ({ code, reason }) => done([code, reason]);
  });
  // A test that does not wait for it need not fail for that.
  closed.catch(() => undefined);
  return {
    socket,
    closed,
    next: (tag) => until(`a message ${tag}`, () => take(tag)),
    frame: () => until("a frame", () => frames.shift()),
    ask: (tag, val) => socket.send(encodeToServer({ body: { tag, val } })),
  };
}

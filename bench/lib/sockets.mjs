// Sockets of the `ws` package towards greenroom and towards a bare `ws` server:
// the same client for both, so that what differs is the server.

import { once } from "node:events";
import WebSocket from "ws";

const PROTOCOLS = ["rivet", "rivet_encoding.json"];

/** Where an actor's connections go. */
export function connectUrl(base, name, key) {
  const query = `rvt-namespace=default&rvt-method=getOrCreate&rvt-runner=default&rvt-crash-policy=sleep&rvt-key=${key}`;
  return `${base.replace(/^http/, "ws")}/gateway/${name}/connect?${query}`;
}

const message = (tag, val) => JSON.stringify({ body: { tag, val } });
export const action = (id, name, ...args) => message("ActionRequest", { id, name, args });
export const subscribe = (eventName) => message("SubscriptionRequest", { eventName, subscribe: true });

/** Opens a socket; one to greenroom is there when it has said so. */
export async function open(url) {
  const socket = new WebSocket(url, PROTOCOLS, { perMessageDeflate: false });
  await once(socket, url.includes("/gateway/") ? "message" : "open");
  return socket;
}

/** Opens many, some at a time. */
export async function openMany(count, urlOf) {
  const sockets = [];
  while (sockets.length < count) {
    const from = sockets.length;
    const batch = Array.from({ length: Math.min(100, count - from) }, (_, at) => open(urlOf(from + at)));
    sockets.push(...(await Promise.all(batch)));
  }
  return sockets;
}

/** Resolves with the first answer to an action on this socket; events pass by. */
export function answered(socket) {
  return new Promise((resolve) => {
    const listen = (data) => {
      if (!data.includes("ActionResponse")) return;
      socket.off("message", listen);
      resolve();
    };
    socket.on("message", listen);
  });
}

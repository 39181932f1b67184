import { createHash } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { NodeSocket } from "../../ts/client/node-socket";

/** A server of one WebSocket: lets it in, sends `bytes` along with that and hands the stream over. */
async function serverOf(bytes: Buffer, then: (stream: Socket) => void): Promise<string> {
  const server = createServer((stream) => {
    stream.on("error", () => {});
    stream.once("data", (head) => {
      const key = /sec-websocket-key: (.*)\r\n/i.exec(head.toString("latin1"))?.[1];
      const accept = createHash("sha1").update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest("base64");
      const lines = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"];
      const answer = [...lines, `Sec-WebSocket-Accept: ${accept}`, "", ""].join("\r\n");
      stream.write(Buffer.concat([Buffer.from(answer), bytes]));
      then(stream);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `ws://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

function frame(opcode: number, payload: Buffer): Buffer {
  return Buffer.concat([Buffer.from([0x80 | opcode, payload.length]), payload]);
}

const close = (code: number, reason: string) => frame(8, Buffer.from([code >> 8, code & 0xff, ...Buffer.from(reason)]));

/** What a socket tells until it is closed. */
async function toldBy(url: string): Promise<unknown[]> {
  const socket = new NodeSocket(url);
  const told: unknown[] = [];
  socket.onopen = () => void told.push("open");
  socket.onerror = () => void told.push("error");
  socket.onmessage = ({ data }) => {
    told.push(data);
    socket.send("heard");
  };
  await new Promise<void>((resolve) => {
    socket.onclose = ({ code, reason }) => {
      told.push([code, reason]);
      resolve();
    };
  });
  return told;
}

// What the client sends shows that it has read so far.
const reset = (stream: Socket) => void stream.once("data", () => stream.resetAndDestroy());

test("a socket gives the reason of a server that resets the stream after its close", async () => {
  const url = await serverOf(close(1011, "actor.not_found#ray"), reset);
  expect(await toldBy(url)).toEqual(["open", [1011, "actor.not_found#ray"]]);
});

test("a socket reads what came along with its handshake, and tells of a stream that breaks", async () => {
  const url = await serverOf(frame(1, Buffer.from("hello")), reset);
  expect(await toldBy(url)).toEqual(["open", "hello", "error", [1006, ""]]);
});

import { describe, expect, it } from "vitest";
import { jsCodec } from "../../ts/codec/index";
import { formatsOf } from "../../ts/wire/formats";

const hex = (bytes: Uint8Array | string) => Buffer.from(bytes as Uint8Array).toString("hex");
const bytes = (text: string) => Uint8Array.from(Buffer.from(text.replaceAll(" ", ""), "hex"));
const bare = formatsOf("bare", jsCodec).messages;
const json = formatsOf("json", jsCodec).messages;
const cbor = formatsOf("cbor", jsCodec).messages;

describe("messages in BARE", () => {
  it("are the published client's, byte for byte", () => {
    expect(hex(bare.subscription("newCount", true))).toBe("040001086e6577436f756e7401");
    expect(hex(bare.action(0, "increment", [1]))).toBe("0400000009696e6372656d656e74028101");
  });

  it("are read in every version", () => {
    expect(bare.read(bytes("0400 02 00 01 05"))).toEqual({ kind: "answer", id: 0, output: 5 });
    const event = bare.read(
      bytes(`0400 03 01 61 08 83 01 63 ${Buffer.from("two").toString("hex")} f6`.replace("08 83", "07 83")),
    );
    expect(event).toEqual({ kind: "event", name: "a", args: [1, "two", null] });
    expect(bare.read(bytes("0100 00 01 61 01 62 01 63"))).toEqual({ kind: "init", actorId: "a", connectionId: "b" });
    const old = bare.read(bytes("0300 01 01 67 01 63 01 6d 00 01 07"));
    expect(old).toEqual({ kind: "error", error: { group: "g", code: "c", message: "m" }, actionId: 7 });
    const named = bare.read(bytes("0400 01 01 67 01 63 01 6d 01 01 f6 00 01 01 61 02 00"));
    expect(named).toEqual({
      kind: "error",
      error: { group: "g", code: "c", message: "m", metadata: null, actor: { actorId: "a", generation: 2 } },
      actionId: undefined,
    });
  });

  it("are refused when broken", () => {
    for (const broken of ["", "04", "0500 00", "0400 09", "0400 02 00", "0400 02 00 01 05 00", "0400 03 01 61 01 05"]) {
      expect(() => bare.read(bytes(broken)), broken).toThrow();
    }
    expect(() => bare.read("text")).toThrow();
  });
});

describe("messages in JSON and CBOR", () => {
  it("say the same", () => {
    const request = { body: { tag: "ActionRequest", val: { id: 3, name: "a", args: [1n] } } };
    expect(JSON.parse(json.action(3, "a", [1n]) as string)).toEqual({
      body: { tag: "ActionRequest", val: { id: 3, name: "a", args: [["$BigInt", "1"]] } },
    });
    expect(jsCodec.decode(cbor.action(3, "a", [1n]) as Uint8Array)).toEqual(request);
  });

  it("are read with ids of any kind", () => {
    const answer = (id: unknown) => JSON.stringify({ body: { tag: "ActionResponse", val: { id, output: 1 } } });
    expect(json.read(answer(["$BigInt", "0"]))).toEqual({ kind: "answer", id: 0, output: 1 });
    expect(json.read(answer(4))).toEqual({ kind: "answer", id: 4, output: 1 });
    expect(() => json.read(answer("4"))).toThrow();
    const error = { group: "g", code: "c", message: "m", actionId: null };
    expect(json.read(JSON.stringify({ body: { tag: "Error", val: error } }))).toMatchObject({ actionId: undefined });
  });

  it("are refused when broken", () => {
    for (const broken of [
      "",
      "1",
      "null",
      "{}",
      '{"body":{}}',
      '{"body":{"tag":"Event","val":{"name":"a","args":1}}}',
    ]) {
      expect(() => json.read(broken), broken).toThrow();
    }
  });
});

import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { ActorError, UserError } from "../../ts/errors/actor-error";
import { decodeBridgeError, encodeBridgeError, fromNative, toBridgeError } from "../../ts/errors/bridge";
import { isRetryable } from "../../ts/errors/retryable";

const crossing = (error: unknown) => decodeBridgeError(`Error: ${toBridgeError(error).message}`);

describe("an error that crosses the bridge", () => {
  test("keeps group, code, message, metadata and actor", () => {
    const actor = { actorId: "id", generation: 3, key: "a/b" };
    const error = new ActorError("room", "full", "no seats", { metadata: { seats: 0 }, actor, rayId: "r1" });
    expect(crossing(error)).toMatchObject({
      group: "room",
      code: "full",
      message: "no seats",
      metadata: { seats: 0 },
      actor,
      rayId: "r1",
    });
  });

  test("keeps metadata that JSON cannot hold by itself", () => {
    const metadata = { big: 2n ** 70n, bytes: new Uint8Array([1]), nothing: undefined, list: [new Set([1])] };
    expect(crossing(new UserError("no", { metadata }))?.metadata).toEqual(metadata);
  });

  test("still arrives when its metadata cannot be encoded", () => {
    const error = crossing(new UserError("no", { metadata: { fn: () => 0 } }));
    expect(error).toMatchObject({ group: "user", message: "no" });
    expect(error?.metadata).toEqual({ error: expect.stringContaining("metadata.fn") });
  });

  test("of the user is public with status 400", () => {
    expect(JSON.parse(encodeBridgeError(new UserError("no", { code: "nope" })).replace(/^.*?:/, ""))).toEqual({
      group: "user",
      code: "nope",
      message: "no",
      public: true,
      statusCode: 400,
    });
  });

  test.each([
    ["an error", new Error("boom"), "boom"],
    ["a text", "boom", "boom"],
    ["nothing", undefined, "undefined"],
    ["an object that cannot be printed", Object.create(null), "a value that cannot be printed was thrown"],
  ])("is an internal one when user code threw %s", (_, thrown, message) => {
    expect(crossing(thrown)).toMatchObject({ group: "rivetkit", code: "internal_error", message, public: false });
  });

  test("is taken from another copy of the package by its shape", () => {
    const foreign = { __type: "RivetError", group: "g", code: "c", message: "m" };
    expect(crossing(foreign)).toMatchObject({ group: "g", code: "c", message: "m" });
  });

  test("is not taken from an untagged object unless that says it is public", () => {
    const shape = { group: "g", code: "c", message: "m" };
    expect(crossing(shape)?.group).toBe("rivetkit");
    expect(crossing({ ...shape, public: true })?.group).toBe("g");
  });

  test("is not encoded twice", () => {
    const once = toBridgeError(new UserError("no"));
    expect(toBridgeError(once)).toBe(once);
  });

  test("stays as it is when it is none of ours, or malformed", () => {
    const plain = new Error("__RIVET_ERROR_JSON__:{broken");
    expect(fromNative(plain)).toBe(plain);
    expect(fromNative("text")).toBe("text");
  });

  test("tells of an argument of the wrong type, and of nothing else that has a code", () => {
    const refused = Object.assign(new Error("Failed to convert"), { code: "NumberExpected" });
    expect(fromNative(refused)).toMatchObject({ group: "napi", code: "invalid_argument", cause: refused });
    const other = Object.assign(new Error("no such file"), { code: "ENOENT" });
    expect(fromNative(other)).toBe(other);
  });

  test("drops an incomplete actor instead of guessing", () => {
    expect(
      decodeBridgeError('__RIVET_ERROR_JSON__:{"group":"g","code":"c","message":"m","actor":{"key":"k"}}')?.actor,
    ).toBe(undefined);
  });
});

describe("ActorError", () => {
  test("is an Error with name, stack and cause", () => {
    const cause = new Error("why");
    const error = new UserError("no", { cause });
    expect(error).toBeInstanceOf(ActorError);
    expect(error).toBeInstanceOf(Error);
    expect([error.name, error.cause]).toEqual(["UserError", cause]);
    expect(error.stack).toContain("errors.test.ts");
  });

  test("tells absent metadata from null", () => {
    expect("metadata" in new UserError("no")).toBe(false);
    expect(new UserError("no", { metadata: null }).metadata).toBe(null);
  });

  test("says retryable exactly where the native table does", () => {
    const table = readFileSync(new URL("../../crates/error/src/code.rs", import.meta.url), "utf8");
    const rows = [...table.matchAll(/row\("([a-z_]+)", "([a-z_]+)"(.*)/g)];
    expect(rows.length).toBeGreaterThan(100);
    for (const [, group = "", code = "", rest = ""] of rows) {
      expect(isRetryable(group, code), `${group}/${code}`).toBe(rest.includes(".retry()"));
    }
  });

  test.each([
    ["guard/websocket_closed_before_open", true],
    ["guard/websocket_tunnel_subscription_closed", true],
    ["guard/tunnel_request_aborted", true],
    ["guard/request_delivery_unconfirmed", true],
    ["ws/meta_not_found_during_restore", true],
    ["client/network_error", true],
    ["guard/query_invalid_params", false],
    ["guard/uri_parse_error", false],
    ["guard/request_build_error", false],
    ["guard/http_request_build_failed", false],
    ["core/internal_error", false],
    ["user/full", false],
  ])("knows of what only an engine or a client says, %s, whether it passes: %s", (pair, passes) => {
    const [group = "", code = ""] = pair.split("/");
    expect(isRetryable(group, code)).toBe(passes);
  });
});

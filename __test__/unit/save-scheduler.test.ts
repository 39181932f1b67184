import { expect, test } from "vitest";
import { SaveScheduler } from "../../lib/context/save-scheduler";

test("a request covers the changes before it and none after it", async () => {
  const asked: string[] = [];
  const native = {
    requestSave: () => void asked.push("request"),
    requestSaveAndWait: async () => void asked.push("wait"),
  };
  const nothing = () => {};
  const saves = new SaveScheduler(native as any, undefined, nothing, nothing);
  saves.changed();
  const saving = saves.requestAndWait({ immediate: true });
  saves.requestPending();
  expect(asked).toEqual(["wait"]);
  saves.changed();
  await saving;
  saves.requestPending();
  saves.flush();
  expect(asked).toEqual(["wait", "request"]);
});

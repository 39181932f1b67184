import { expect, test } from "vitest";
import { SaveScheduler } from "../../lib/context/save-scheduler";

test("a scheduler knows whether everything is saved", async () => {
  const open: (() => void)[] = [];
  const native = {
    requestSave: () => {},
    requestSaveAndWait: () => new Promise<void>((resolve) => open.push(resolve)),
  };
  const nothing = () => {};
  const saves = new SaveScheduler(native as any, undefined, nothing, nothing);
  saves.changed();
  expect(saves.isSaved).toBe(false);
  const saving = saves.requestAndWait({ immediate: true });
  saves.changed();
  open.pop()?.();
  await saving;
  expect(saves.isSaved).toBe(false);
  const again = saves.requestAndWait({ immediate: true });
  open.pop()?.();
  await again;
  expect(saves.isSaved).toBe(true);
  saves.flush();
});

/** `c.schedule` and `c.cron`: arguments encoded, errors decoded, nothing else. */
import type { Codec } from "../codec/codec";
import { fromNativePromise } from "../errors/bridge";
import type { NativeCronFire, NativeCronJob, NativeSchedule, NativeScheduled } from "../native/storage-types";
import type { ActorCron, ActorSchedule, CronFire, CronJobInfo, ScheduledEventInfo } from "./service-types";

export function createSchedule(native: NativeSchedule, codec: Codec): ActorSchedule {
  const info = (event: NativeScheduled): ScheduledEventInfo => ({
    id: event.id,
    action: event.action,
    args: codec.decode(event.args) as unknown[],
    runAt: event.runAt,
  });
  return {
    async after(durationMs, action, ...args) {
      return fromNativePromise(() => native.after(durationMs, action, codec.encode(args, "args")));
    },
    async at(timestampMs, action, ...args) {
      return fromNativePromise(() => native.at(timestampMs, action, codec.encode(args, "args")));
    },
    async cancel(id) {
      return fromNativePromise(() => native.cancel(id));
    },
    async get(id) {
      const event = await fromNativePromise(() => native.get(id));
      return event === null ? undefined : info(event);
    },
    async list() {
      return (await fromNativePromise(() => native.list())).map(info);
    },
  };
}

export function createCron(native: NativeSchedule, codec: Codec): ActorCron {
  return {
    async set({ name, expression, timezone, action, args = [], maxHistory }) {
      const encoded = codec.encode(args, "args");
      await fromNativePromise(() => native.cronSet(name, expression, timezone, action, encoded, maxHistory));
    },
    async every({ name, interval, action, args = [], maxHistory }) {
      await fromNativePromise(() => native.cronEvery(name, interval, action, codec.encode(args, "args"), maxHistory));
    },
    async get(name) {
      const job = await fromNativePromise(() => native.cronGet(name));
      return job === null ? undefined : jobInfo(job, codec);
    },
    async list() {
      return (await fromNativePromise(() => native.cronList())).map((job) => jobInfo(job, codec));
    },
    async delete(name) {
      return fromNativePromise(() => native.cronDelete(name));
    },
    async history(name, { limit } = {}) {
      return (await fromNativePromise(() => native.cronHistory(name, limit))).map(fire);
    },
  };
}

function jobInfo(job: NativeCronJob, codec: Codec): CronJobInfo {
  const common = {
    name: job.name,
    action: job.action,
    args: codec.decode(job.args) as unknown[],
    nextRunAt: job.nextRunAt,
    maxHistory: job.maxHistory,
    ...(job.lastRunAt != null && { lastRunAt: job.lastRunAt }),
  };
  return job.kind === "every"
    ? { ...common, kind: "every", interval: job.intervalMs ?? 0 }
    : { ...common, kind: "cron", expression: job.expression ?? "", timezone: job.timezone ?? "UTC" };
}

function fire(native: NativeCronFire): CronFire {
  return {
    action: native.action,
    scheduledAt: native.scheduledAt,
    firedAt: native.firedAt,
    result: native.result as CronFire["result"],
    ...(native.finishedAt != null && { finishedAt: native.finishedAt }),
    ...(native.error != null && { error: native.error }),
  };
}

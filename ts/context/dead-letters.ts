/** `c.queue.deadLetters`: messages that were given up. */
import type { Codec } from "../codec/codec";
import { fromNativePromise } from "../errors/bridge";
import type { NativeDeadLetter, NativeLetterChoice, NativeQueue } from "../native/storage-types";
import type { DeadLetter, DeadLetterChoice, DeadLetters } from "./queue-types";

export function createDeadLetters(native: NativeQueue, codec: Codec): DeadLetters {
  const letter = ({ body, ...rest }: NativeDeadLetter): DeadLetter => ({ ...rest, body: codec.decode(body) });
  return {
    async list({ name, after, limit } = {}) {
      const options = {
        ...(name !== undefined && { name }),
        ...(after !== undefined && { after: BigInt(after) }),
        ...(limit !== undefined && { limit }),
      };
      return (await fromNativePromise(() => native.deadLetters(options))).map(letter);
    },
    replay: async (options) => fromNativePromise(() => native.replayDeadLetters(choice(options))),
    purge: async (options) => fromNativePromise(() => native.purgeDeadLetters(choice(options))),
  };
}

function choice({ name, ids }: DeadLetterChoice = {}): NativeLetterChoice {
  return {
    ...(name !== undefined && { name }),
    ...(ids !== undefined && { ids: ids.map((id) => BigInt(id)) }),
  };
}

/** What all generations of one actor type share. */
import type { Codec } from "../codec/codec";
import type { CompiledActor } from "../define/actor";
import type { NativeModule } from "../native/registry-types";
import type { ActorLogger } from "./service-types";

export interface ActorServices {
  readonly name: string;
  readonly definition: CompiledActor;
  readonly codec: Codec;
  readonly native: Pick<NativeModule, "CancellationToken">;
  readonly log: ActorLogger;
  /** The client behind `c.client()`. */
  client(): unknown;
}
